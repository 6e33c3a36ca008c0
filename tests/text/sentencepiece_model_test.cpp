#include "text/sentencepiece_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "base/error.h"
#include "base/file.h"

namespace hone::text {
namespace {

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(uint64_t field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(uint64_t field, const std::string& value) {
  return varint(field << 3 | 2) + varint(value.size()) + value;
}
std::string real(uint64_t field, float value) {
  std::string out = varint(field << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift);
  return out;
}
std::string piece(const std::string& text, float score, uint64_t type) {
  return bytes(1, bytes(1, text) + real(2, score) + number(3, type));
}

std::string sample() {
  return piece("<unk>", 0, 2) + bytes(1, bytes(1, "\u2581a") + real(2, -1.5F)) +
         piece("<0x0A>", -2, 6) +
         bytes(2, number(3, 2) + number(35, 1) + number(40, 3) + number(43, ~uint64_t{0}) +
                      bytes(5, "ignored") + number(24, 1)) +
         bytes(3, bytes(1, "nmt_nfkc") + bytes(2, std::string("\1\0\2", 3)) + number(3, 0) +
                      number(4, 0) + number(5, 1)) +
         bytes(4, "self test data") + varint(99 << 3 | 1) + "12345678";
}

TEST(SentencePieceModel, ReadsTheFieldsThatMatter) {
  const SentencePieceModel model = parse_sentencepiece_model(sample(), "m");
  ASSERT_EQ(model.pieces.size(), 3U);
  EXPECT_EQ(model.pieces[0].type, SentencePieceModel::PieceType::unknown);
  EXPECT_EQ(model.pieces[1].text, "\u2581a");
  EXPECT_EQ(model.pieces[1].score, -1.5F);
  EXPECT_EQ(model.pieces[1].type, SentencePieceModel::PieceType::normal);
  EXPECT_EQ(model.pieces[2].type, SentencePieceModel::PieceType::byte);
  EXPECT_EQ(model.model_type, SentencePieceModel::ModelType::bpe);
  EXPECT_TRUE(model.byte_fallback);
  EXPECT_TRUE(model.treat_whitespace_as_suffix);
  EXPECT_EQ(model.unk_id, 3);
  EXPECT_EQ(model.bos_id, 1);
  EXPECT_EQ(model.eos_id, 2);
  EXPECT_EQ(model.pad_id, -1);
  EXPECT_EQ(model.normalizer_name, "nmt_nfkc");
  EXPECT_EQ(model.precompiled_charsmap, std::string("\1\0\2", 3));
  EXPECT_FALSE(model.add_dummy_prefix);
  EXPECT_FALSE(model.remove_extra_whitespaces);
  EXPECT_TRUE(model.escape_whitespaces);
}

TEST(SentencePieceModel, NamesWhatIsWrong) {
  const auto error = [](const std::string& content) -> std::string {
    try {
      parse_sentencepiece_model(content, "m");
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::bad_file);
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(error(piece("a", 0, 1)), "none");
  EXPECT_NE(error("").find("no SentencePiece model"), std::string::npos);
  EXPECT_NE(error(piece("", 0, 1)).find("pieces[0].piece"), std::string::npos);
  EXPECT_NE(error(piece("\xFF", 0, 1)).find("pieces[0].piece"), std::string::npos);
  EXPECT_NE(error(piece("a", NAN, 1)).find("pieces[0].score"), std::string::npos);
  EXPECT_NE(
      error(piece("a", 0, 1) + piece("a", 0, 7)).find("pieces[1].type: must be 1 to 6, got 7"),
      std::string::npos);
  EXPECT_NE(error(piece("a", 0, 1) + bytes(2, number(3, 9))).find("model_type"), std::string::npos);
  EXPECT_NE(error(bytes(1, bytes(2, "abcd"))).find("wire type"), std::string::npos);
  EXPECT_NE(error("\x0b").find("wire type"), std::string::npos);
  EXPECT_NE(error(std::string(11, '\xFF')).find("broken number"), std::string::npos);
  EXPECT_NE(error("\x0a\xFF\xFF\xFF\xFF\x0F").find("more bytes"), std::string::npos);
}

/// Every cut and every damaged byte of a good file either parses or is an Error.
TEST(SentencePieceModel, SurvivesDamage) {
  const std::string good = sample();
  int errors = 0;
  const auto parse = [&](const std::string& content) {
    try {
      parse_sentencepiece_model(content, "m");
    } catch (const Error&) {
      ++errors;
    }
  };
  for (size_t size = 0; size < good.size(); ++size) parse(good.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] = static_cast<char>(random());
    bad[random() % bad.size()] = static_cast<char>(random());
    parse(bad);
  }
  EXPECT_GT(errors, 1000);
}

TEST(SentencePieceModel, ReadsAlbert) {
  const char* data = std::getenv("HONE_DATA");
  const std::string path =
      (data != nullptr ? std::string(data) : HONE_TEST_DIR "/../../../shared/data") +
      "/tokenizers/albert/spiece.model";
  if (!file_exists(path)) GTEST_SKIP() << path << " is not there";
  const SentencePieceModel model = read_sentencepiece_model(path);
  ASSERT_EQ(model.pieces.size(), 30000U);
  EXPECT_EQ(model.pieces[0].text, "<pad>");
  EXPECT_EQ(model.pieces[1].text, "<unk>");
  EXPECT_EQ(model.pieces[1].type, SentencePieceModel::PieceType::unknown);
  EXPECT_EQ(model.unk_id, 1);
  EXPECT_EQ(model.model_type, SentencePieceModel::ModelType::unigram);
  EXPECT_GT(model.precompiled_charsmap.size(), 100000U);
}

}  // namespace
}  // namespace hone::text
