#include "trees/words.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "trees/brackets.h"

namespace hone::trees {
namespace {

/// Gives code points [begin, end) of a text.
std::string cut(std::string_view text, WordPlace place) {
  std::string out;
  uint32_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) {
    const Utf8Char c = decode_utf8(text, at);
    if (count >= place.begin && count < place.end) out += text.substr(at, c.size);
    at += c.size;
  }
  return out;
}

std::string split(std::string_view text) {
  std::string out;
  for (const WordPlace& place : split_words(text)) {
    out += (out.empty() ? "" : "|") + cut(text, place);
  }
  return out;
}

TEST(Words, AreSplitAsInATreebank) {
  EXPECT_EQ(split("It's a film."), "It|'s|a|film|.");
  EXPECT_EQ(split("I don't know, (they'll) \"say\"!"), "I|do|n't|know|,|(|they|'ll|)|\"|say|\"|!");
  EXPECT_EQ(split("wait... a well-known U.S. film -- 3.5, $5"),
            "wait|...|a|well-known|U.S.|film|--|3.5|,|$|5");
  EXPECT_EQ(split("J. R. said so."), "J.|R.|said|so|.");
  EXPECT_EQ(split("the dogs' caf\xC3\xA9\xE2\x80\x99s"), "the|dogs|'|caf\xC3\xA9|\xE2\x80\x99s");
  EXPECT_EQ(split("!?"), "!|?");
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split(" \xC2\xA0\t"), "");
}

TEST(Words, ThatAreSplitStaySo) {
  for (const char* text : {"It 's a film .", "do n't `` say '' ...", "-- U.S. and J. R. 's"}) {
    std::string same = split(text);
    for (char& c : same) c = c == '|' ? ' ' : c;
    EXPECT_EQ(same, text);
  }
}

std::vector<WordPlace> located(const std::string& brackets, std::string_view text) {
  BracketReader reader;
  std::vector<Tree> trees;
  EXPECT_EQ(reader.take(brackets, trees), "");
  return locate_words(trees.at(0), text).value_or(std::vector<WordPlace>());
}

TEST(Words, OfATreeAreLocatedByCodePoints) {
  const auto places = located("(S caf\xC3\xA9 do n't `` x '')", "  Caf\xC3\xA9 don't\"x\" ");
  EXPECT_EQ(places,
            (std::vector<WordPlace>{{2, 6}, {7, 9}, {9, 12}, {12, 13}, {13, 14}, {14, 15}}));
}

TEST(Words, ThatDifferFromTheTextAreNotLocated) {
  EXPECT_FALSE(located("(S a b)", "a b").empty());
  EXPECT_TRUE(located("(S a b)", "a b c").empty());
  EXPECT_TRUE(located("(S a b)", "a").empty());
  EXPECT_TRUE(located("(S a b)", "a d").empty());
  EXPECT_TRUE(located("(S a b)", "").empty());
}

TEST(Words, SentencesEndBehindTheirClosingQuotes) {
  const std::string text = "He left . She said `` no ! '' and ... stayed ?";
  std::string ends;
  const auto words = split_words(text);
  const auto flags = sentence_ends(text, words);
  for (size_t i = 0; i < words.size(); ++i) {
    if (flags[i]) ends += cut(text, words[i]) + "@" + std::to_string(i) + " ";
  }
  EXPECT_EQ(ends, ".@2 ''@8 ...@10 ?@12 ");
}

}  // namespace
}  // namespace hone::trees
