#include "text/bpe.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_level.h"

namespace hone::text {

bool operator==(const Piece& a, const Piece& b) {
  return a.id == b.id && a.begin == b.begin && a.end == b.end;
}
void PrintTo(const Piece& piece, std::ostream* out) {
  *out << piece.id << "[" << piece.begin << "," << piece.end << ")";
}

namespace {

using Vocab = std::vector<std::pair<std::string, int32_t>>;
using Merges = std::vector<std::pair<std::string, std::string>>;
using Pieces = std::vector<Piece>;

Vocab numbered(const std::vector<std::string>& tokens) {
  Vocab vocab;
  for (size_t i = 0; i < tokens.size(); ++i) vocab.emplace_back(tokens[i], static_cast<int>(i));
  return vocab;
}

Pieces tokenize(const Bpe& bpe, std::string_view text) {
  Pieces pieces;
  bpe.tokenize(text, *bpe.make_scratch(), pieces);
  return pieces;
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
  const Bpe bpe(numbered({"a", "b", "c", "ab", "bc", "abc", "aa"}),
                {{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}}, {}, "v");
  EXPECT_EQ(tokenize(bpe, ""), Pieces());
  EXPECT_EQ(tokenize(bpe, "a"), (Pieces{{0, 0, 1}}));
  EXPECT_EQ(tokenize(bpe, "abc"), (Pieces{{5, 0, 3}}));
  EXPECT_EQ(tokenize(bpe, "abab"), (Pieces{{3, 0, 2}, {3, 2, 4}}));
  EXPECT_EQ(tokenize(bpe, "aaa"), (Pieces{{6, 0, 2}, {0, 2, 3}}));
  EXPECT_EQ(tokenize(bpe, "aab"), (Pieces{{0, 0, 1}, {3, 1, 3}}));
}

TEST(Bpe, UnknownCharacters) {
  const Vocab vocab = numbered({"a", "<unk>", "<0xC3>", "<0xA9>"});
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {}, "v"), "aéa"), (Pieces{{0, 0, 1}, {0, 1, 2}}))
      << "they vanish, and offsets close up";
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {.unk_token = "<unk>"}, "v"), "aßzz"),
            (Pieces{{0, 0, 1}, {1, 1, 3}, {1, 3, 4}, {1, 4, 5}}));
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {.unk_token = "<unk>", .fuse_unk = true}, "v"), "aßzza"),
            (Pieces{{0, 0, 1}, {1, 1, 5}, {0, 5, 6}}));
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {.unk_token = "<unk>", .byte_fallback = true}, "v"), "éß"),
            (Pieces{{2, 0, 1}, {3, 1, 2}, {1, 2, 4}}));
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {.unk_token = "<unk>", .byte_fallback = true}, "v"), "ßé"),
            (Pieces{{2, 0, 1}, {3, 1, 2}, {1, 2, 4}}))
      << "the open unknown comes after the bytes";
  EXPECT_THROW(tokenize(Bpe(vocab, {}, {.unk_token = "[UNK]"}, "v"), "z"), Error);
}

TEST(Bpe, PrefixSuffixAndIgnoredMerges) {
  const Vocab vocab = numbered({"a", "##a", "##a</w>", "aa</w>", "aaa"});
  const Bpe affixes(vocab, {{"a", "##a</w>"}},
                    {.continuing_subword_prefix = "##", .end_of_word_suffix = "</w>"}, "v");
  EXPECT_EQ(tokenize(affixes, "aa"), (Pieces{{3, 0, 2}}));
  EXPECT_EQ(tokenize(affixes, "aaa"), (Pieces{{0, 0, 1}, {1, 1, 2}, {2, 2, 3}}));
  EXPECT_FALSE(affixes.is_byte_level());
  EXPECT_EQ(tokenize(Bpe(vocab, {}, {.ignore_merges = true}, "v"), "aaa"), (Pieces{{4, 0, 3}}));
}

TEST(Bpe, FindsTokensAndIds) {
  const Bpe bpe({{"x", 7}, {"", 2}, {"long token", 60000}}, {}, {}, "v");
  EXPECT_EQ(bpe.size(), 3U);
  EXPECT_EQ(bpe.id_of("x"), 7);
  EXPECT_EQ(bpe.id_of(""), 2);
  EXPECT_EQ(bpe.id_of("y"), -1);
  EXPECT_EQ(bpe.token_of(60000), "long token");
  EXPECT_EQ(bpe.token_of(3), "");
  EXPECT_EQ(bpe.token_of(-1), "");
}

/// Where several tokens have one id, it is the id that merges.
TEST(Bpe, SharedIds) {
  const Bpe bpe({{"a", 0}, {"b", 1}, {"c", 1}, {"ab", 2}}, {{"a", "b"}}, {}, "v");
  EXPECT_EQ(tokenize(bpe, "ac"), (Pieces{{2, 0, 2}}));
}

TEST(Bpe, NamesWhatIsWrong) {
  const auto error = [](const Vocab& vocab, const Merges& merges, const std::string& prefix = "") {
    try {
      Bpe(vocab, merges, {.continuing_subword_prefix = prefix}, "v.json");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::bad_file);
      return std::string(e.what());
    }
    return std::string("none");
  };
  const Vocab vocab = numbered({"a", "b", "ab"});
  EXPECT_EQ(error(vocab, {{"a", "b"}}), "none");
  EXPECT_EQ(error(vocab, {{"a", "b"}, {"a", "x"}}),
            "v.json: merges[1]: token is not in the vocabulary, got 'x'");
  EXPECT_EQ(error(vocab, {{"b", "a"}}),
            "v.json: merges[0]: token is not in the vocabulary, got 'ba'");
  EXPECT_NE(error(vocab, {{"a", "b"}}, "##").find("shorter"), std::string::npos);
  EXPECT_NE(error({{"a", 0}, {"a", 1}}, {}).find("twice"), std::string::npos);
  EXPECT_NE(error({{"a", -1}}, {}).find("-1"), std::string::npos);
}

/// A vocabulary of all bytes and a few merges, among them some that chain over long runs.
Bpe byte_bpe() {
  Vocab vocab;
  for (const char32_t code : byte_level_alphabet()) {
    std::string token;
    append_utf8(code, token);
    vocab.emplace_back(token, static_cast<int32_t>(vocab.size()));
  }
  Merges merges;
  for (std::string token = "a"; token.size() < 1024; token += token) {
    merges.emplace_back(token, token);
    vocab.emplace_back(token + token, static_cast<int32_t>(vocab.size()));
  }
  return Bpe(vocab, merges, {}, "v");
}

TEST(Bpe, BytesAreTokenisedDirectly) {
  const Bpe bpe = byte_bpe();
  ASSERT_TRUE(bpe.is_byte_level());
  const auto scratch = bpe.make_scratch();
  for (const std::string raw : {"", "a", "aaa", " aéa", "\xF0\x9F\x98\x80", "Ġ", "aaaaaaaaaaaaaaaa",
                                "aaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"}) {
    for (int time = 0; time < 2; ++time) {  // the second time from the cache
      Pieces direct;
      bpe.tokenize_bytes(raw, *scratch, direct);
      std::string visible;
      append_byte_level(raw, visible);
      const Pieces plain = tokenize(bpe, visible);
      ASSERT_EQ(direct.size(), plain.size()) << raw;
      uint32_t begin = 0;
      for (size_t i = 0; i < direct.size(); ++i) {
        EXPECT_EQ(direct[i].id, plain[i].id);
        EXPECT_EQ(direct[i].begin, begin);
        begin = direct[i].end;
      }
      EXPECT_EQ(begin, raw.size());
    }
  }
}

/// Short words merge by scanning, long ones with a heap; both meet at every length.
TEST(Bpe, AllLengthsAgree) {
  const Bpe bpe = byte_bpe();
  for (uint32_t size = 1; size < 200; ++size) {
    const Pieces pieces = tokenize(bpe, std::string(size, 'a'));
    uint32_t begin = 0;
    size_t at = 0;
    for (uint32_t bit = 128; bit > 0; bit /= 2) {  // runs of a merge to the binary digits of size
      if ((size & bit) == 0) continue;
      ASSERT_LT(at, pieces.size());
      EXPECT_EQ(bpe.token_of(pieces[at].id), std::string(bit, 'a')) << size;
      EXPECT_EQ(pieces[at].begin, begin);
      begin += bit;
      ++at;
    }
    EXPECT_EQ(at, pieces.size());
  }
}

// A quadratic pass would outlast the test's time limit by hours.
TEST(Bpe, MegabyteWord) {
  const Bpe bpe = byte_bpe();
  Pieces pieces;
  bpe.tokenize_bytes(std::string(1 << 20, 'a'), *bpe.make_scratch(), pieces);
  ASSERT_EQ(pieces.size(), size_t{1} << 10);
  EXPECT_EQ(bpe.token_of(pieces[0].id).size(), 1024U);
}

}  // namespace
}  // namespace hone::text
