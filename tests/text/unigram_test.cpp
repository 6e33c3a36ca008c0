#include "text/unigram.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace hone::text {
namespace {

using List = std::vector<std::pair<std::string, double>>;

/// Pieces as "text|text"; ids are checked to be the texts' own, or unknown ("?").
std::string tokenize(const Unigram& unigram, std::string_view text) {
  std::vector<Piece> pieces;
  unigram.tokenize(text, *unigram.make_scratch(), pieces);
  std::string out;
  for (const Piece& piece : pieces) {
    if (!out.empty()) out += '|';
    const std::string_view covered = text.substr(piece.begin, piece.end - piece.begin);
    out += covered;
    if (unigram.token_of(piece.id) != covered) out += '=' + std::string(unigram.token_of(piece.id));
  }
  return out;
}

TEST(Unigram, FindsTheBestPath) {
  const Unigram unigram({{"<unk>", 0}, {"a", -3}, {"b", -3}, {"ab", -2}, {"bc", -1}, {"c", -5}}, 0,
                        false, "v");
  EXPECT_EQ(tokenize(unigram, ""), "");
  EXPECT_EQ(tokenize(unigram, "ab"), "ab");
  EXPECT_EQ(tokenize(unigram, "abc"), "a|bc");
  EXPECT_EQ(tokenize(unigram, "abbc"), "ab|bc");
}

TEST(Unigram, OfEqualPathsTheFirstFoundStays) {
  const Unigram unigram({{"<unk>", 0}, {"a", -1}, {"aa", -2}, {"aaa", -3}}, 0, false, "v");
  EXPECT_EQ(tokenize(unigram, "aaa"), "aaa");
  EXPECT_EQ(tokenize(unigram, "aaaa"), "a|aaa");
}

TEST(Unigram, UnknownRunsAreOneToken) {
  const List list{{"<unk>", 0}, {"a", -1}, {"<0xC3>", -1}, {"<0xA9>", -1}};
  EXPECT_EQ(tokenize(Unigram(list, 0, false, "v"), "azéßaz"), "a|zéß=<unk>|a|z=<unk>");
  EXPECT_EQ(tokenize(Unigram(list, 0, true, "v"), "aéa"), "a|é=<0xC3>|é=<0xA9>|a");
  EXPECT_EQ(tokenize(Unigram(list, 0, true, "v"), "éz"), "éz=<unk>") << "z has no byte piece";
  EXPECT_EQ(tokenize(Unigram(list, 0, false, "v"), "z<unk>z"), "z<unk>z=<unk>")
      << "the text of the unknown piece is unknown too";
  EXPECT_EQ(tokenize(Unigram(list, std::nullopt, false, "v"), "aa"), "a|a");
  EXPECT_THROW(tokenize(Unigram(list, std::nullopt, false, "v"), "az"), Error);
}

TEST(Unigram, OfEqualPiecesTheLastCounts) {
  const Unigram unigram({{"<unk>", 0}, {"a", -1}, {"a", -2}, {"", 5}}, 0, false, "v");
  EXPECT_EQ(unigram.id_of("a"), 2);
  EXPECT_EQ(unigram.id_of(""), -1);
  EXPECT_EQ(unigram.token_of(1), "a");
  EXPECT_EQ(unigram.token_of(4), "");
  EXPECT_EQ(unigram.token_of(-1), "");
  EXPECT_EQ(unigram.size(), 4U);
}

TEST(Unigram, WideAndNarrowNodes) {
  List list{{"<unk>", 0}};
  for (int c = 1; c < 128; ++c) {
    const std::string head = "x" + std::string(1, static_cast<char>(c));
    list.emplace_back(head, -1);
    if (c % 2 == 0) list.emplace_back(head + "y", -1);
  }
  const Unigram unigram(list, 0, false, "v");
  for (const auto& [text, score] : list) {
    EXPECT_EQ(unigram.token_of(unigram.id_of(text)), text);
    EXPECT_EQ(unigram.id_of(text + "z"), -1);
  }
}

TEST(Unigram, NamesWhatIsWrong) {
  EXPECT_THROW(Unigram({{"a", 0}}, 1, false, "v"), Error);
  EXPECT_THROW(Unigram({{"a", 0}}, -1, false, "v"), Error);
  EXPECT_THROW(Unigram({}, 0, false, "v"), Error);
  EXPECT_THROW(Unigram({{"a", std::numeric_limits<double>::quiet_NaN()}}, 0, false, "v"), Error);
  EXPECT_NO_THROW(Unigram({}, std::nullopt, false, "v"));
}

TEST(Unigram, MegabyteWord) {
  const Unigram unigram({{"<unk>", 0}, {"a", -3}, {"aaaa", -4}}, 0, false, "v");
  std::vector<Piece> pieces;
  unigram.tokenize(std::string(1 << 20, 'a') + "zz", *unigram.make_scratch(), pieces);
  ASSERT_EQ(pieces.size(), (size_t{1} << 18) + 1);
  EXPECT_EQ(pieces.back().id, 0);
  EXPECT_EQ(pieces.back().end, (uint32_t{1} << 20) + 2);
}

}  // namespace
}  // namespace hone::text
