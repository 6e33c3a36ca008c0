#include "text/stop_words.h"

#include <algorithm>
#include <array>

namespace hone::text {
namespace {

constexpr auto kStopWords = std::to_array<std::string_view>(
    {"a",         "about",   "above",   "after",      "again",     "against", "all",
     "also",      "am",      "an",      "and",        "any",       "are",     "as",
     "at",        "be",      "because", "been",       "before",    "being",   "below",
     "between",   "both",    "br",      "but",        "by",        "can",     "could",
     "d",         "did",     "do",      "does",       "doing",     "down",    "during",
     "each",      "few",     "for",     "from",       "further",   "had",     "has",
     "have",      "having",  "he",      "he'd",       "he'll",     "he's",    "her",
     "here",      "here's",  "hers",    "herself",    "him",       "himself", "his",
     "how",       "how's",   "i",       "i'd",        "i'll",      "i'm",     "i've",
     "if",        "in",      "into",    "is",         "it",        "it's",    "its",
     "itself",    "just",    "ll",      "m",          "me",        "more",    "most",
     "my",        "myself",  "now",     "o",          "of",        "off",     "on",
     "once",      "only",    "or",      "other",      "our",       "ours",    "ourselves",
     "out",       "over",    "own",     "re",         "s",         "same",    "she",
     "she'd",     "she'll",  "she's",   "should",     "should've", "so",      "some",
     "such",      "t",       "than",    "that",       "that'll",   "that's",  "the",
     "their",     "theirs",  "them",    "themselves", "then",      "there",   "there's",
     "these",     "they",    "they'd",  "they'll",    "they're",   "they've", "this",
     "those",     "through", "to",      "too",        "under",     "until",   "up",
     "us",        "ve",      "very",    "was",        "we",        "we'd",    "we'll",
     "we're",     "we've",   "were",    "what",       "what's",    "when",    "when's",
     "where",     "where's", "which",   "while",      "who",       "who's",   "whom",
     "why",       "why's",   "will",    "with",       "would",     "y",       "you",
     "you'd",     "you'll",  "you're",  "you've",     "your",      "yours",   "yourself",
     "yourselves"});
static_assert(std::is_sorted(kStopWords.begin(), kStopWords.end()));

}  // namespace

std::span<const std::string_view> english_stop_words() { return kStopWords; }

bool is_stop_word(std::string_view word) {
  return std::binary_search(kStopWords.begin(), kStopWords.end(), word);
}

}  // namespace hone::text
