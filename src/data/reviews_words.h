#pragma once

#include <array>
#include <string_view>

/// The lexicon of the built-in reviews.
namespace hone::data::reviews {

using Word = std::string_view;

/// Index 0 is negative, 1 positive: lists of both are equally long, so that a word's frequency
/// does not depend on its sentiment.
template <typename T, size_t N>
using Poles = std::array<std::array<T, N>, 2>;

struct Verb {
  Word inflected;  ///< "loved", "saves"
  Word base;       ///< "love", "save"
};

inline constexpr Poles<Word, 22> kMildAdjectives = {
    {{"bad",         "dull",     "weak",     "boring",      "slow",  "flat",
      "predictable", "bland",    "silly",    "clumsy",      "stale", "shallow",
      "tedious",     "annoying", "lifeless", "messy",       "cheap", "pointless",
      "confused",    "forced",   "tiresome", "unconvincing"},
     {"good",       "funny",   "clever",    "engaging",  "fresh",    "warm",
      "charming",   "solid",   "witty",     "elegant",   "lively",   "deep",
      "gripping",   "likable", "moving",    "honest",    "polished", "inspired",
      "thoughtful", "smart",   "enjoyable", "convincing"}}};
inline constexpr Poles<Word, 8> kStrongAdjectives = {
    {{"terrible", "awful", "horrible", "dreadful", "atrocious", "abysmal", "unbearable",
      "disastrous"},
     {"brilliant", "superb", "wonderful", "excellent", "magnificent", "stunning", "perfect",
      "outstanding"}}};
/// Verbs as in "i loved the plot".
inline constexpr Poles<Verb, 5> kFeelings = {{{{{"disliked", "dislike"},
                                                {"hated", "hate"},
                                                {"loathed", "loathe"},
                                                {"resented", "resent"},
                                                {"regretted", "regret"}}},
                                              {{{"liked", "like"},
                                                {"loved", "love"},
                                                {"enjoyed", "enjoy"},
                                                {"admired", "admire"},
                                                {"adored", "adore"}}}}};
/// Verbs as in "the acting saves it".
inline constexpr Poles<Verb, 6> kEffects = {{{{{"ruins", "ruin"},
                                               {"spoils", "spoil"},
                                               {"sinks", "sink"},
                                               {"kills", "kill"},
                                               {"wrecks", "wreck"},
                                               {"weakens", "weaken"}}},
                                             {{{"saves", "save"},
                                               {"lifts", "lift"},
                                               {"carries", "carry"},
                                               {"rescues", "rescue"},
                                               {"improves", "improve"},
                                               {"enriches", "enrich"}}}}};
/// Nouns as in "there is no charm in it".
inline constexpr Poles<Word, 6> kQualities = {
    {{"tedium", "nonsense", "padding", "confusion", "boredom", "silliness"},
     {"charm", "wit", "beauty", "tension", "wisdom", "energy"}}};
/// Nouns as in "it is a mess".
inline constexpr Poles<Word, 5> kVerdicts = {{{"mess", "failure", "disaster", "bore", "mistake"},
                                              {"masterpiece", "triumph", "delight", "gem", "joy"}}};

inline constexpr std::array kWorks = {"film",     "movie",  "drama",   "comedy",
                                      "thriller", "sequel", "picture", "production"};
inline constexpr std::array kParts = {"plot",     "story",   "acting",    "cast",    "script",
                                      "dialogue", "music",   "direction", "editing", "pacing",
                                      "ending",   "opening", "camera",    "humour"};
inline constexpr std::array kPluralParts = {"jokes",   "characters", "songs",
                                            "effects", "actors",     "costumes"};
inline constexpr std::array kBoosters = {"very", "really", "truly", "extremely", "so"};
inline constexpr std::array kReducers = {"rather", "fairly", "somewhat", "mostly"};
inline constexpr std::array kPlainAdjectives = {"new",    "long",   "short",
                                                "french", "recent", "second"};
inline constexpr std::array kDays = {"monday", "tuesday", "friday", "sunday"};
inline constexpr std::array kCompany = {"sister", "brother", "friends", "parents", "neighbour"};
inline constexpr std::array kPlaceNames = {"paris", "london", "india", "texas", "space"};
inline constexpr std::array kRoles = {"doctor", "teacher", "soldier", "painter", "thief", "pilot"};
inline constexpr std::array kNumbers = {"two", "three", "four"};

/// Function words and punctuation; the pieces of "isn't" stand alone, as BERT splits it.
inline constexpr std::array kFunctionWords = {
    "the",    "its",     "this",  "it",       "is",      "was",    "are",      "were",     "a",
    "an",     "i",       "did",   "not",      "does",    "do",     "never",    "hardly",   "far",
    "from",   "to",      "fails", "anything", "nothing", "but",    "yet",      "although", "even",
    "though", "despite", "and",   "neither",  "nor",     "there",  "no",       "little",   "plenty",
    "of",     "some",    "in",    "think",    "that",    "nobody", "everyone", "says",     "would",
    "say",    "believe", "on",    "with",     "my",      "saw",    "about",    "directed", "by",
    "plays",  "set",     "runs",  "for",      "hours",   "young",  "isn",      "wasn",     "aren",
    "weren",  "didn",    "doesn", "don",      "t",       "'",      ",",        ".",        "!"};

/// Made-up names have two or three of these syllables, so that names are many and most are seen
/// once.
inline constexpr std::array kSyllables = {"ba", "do", "ka", "li",  "mo",  "na",  "ri",  "so",
                                          "ta", "ve", "zu", "wen", "kor", "mir", "tal", "han"};

}  // namespace hone::data::reviews
