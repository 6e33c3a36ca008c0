#include "text/bpe.h"

#include "text/byte_level.h"
#include "text/models_golden.h"

namespace hone::text {
namespace {

std::unique_ptr<Bpe> make_bpe(const Json& json) {
  std::vector<std::pair<std::string, int32_t>> vocab;
  for (const auto& [token, id] : json["vocab"].items()) vocab.emplace_back(token, id);
  BpeOptions options;
  options.unk_token = json.value("unk_token", "");
  options.continuing_subword_prefix = json.value("continuing_subword_prefix", "");
  options.end_of_word_suffix = json.value("end_of_word_suffix", "");
  options.fuse_unk = json.value("fuse_unk", false);
  options.byte_fallback = json.value("byte_fallback", false);
  options.ignore_merges = json.value("ignore_merges", false);
  return std::make_unique<Bpe>(
      vocab, json["merges"].get<std::vector<std::pair<std::string, std::string>>>(), options,
      "golden");
}

TEST(BpeGolden, EqualsTokenizers) {
  std::unique_ptr<Bpe> bpe;
  std::unique_ptr<Model::Scratch> scratch;
  run_golden(
      "bpe.jsonl",
      [&](const Json& json) {
        bpe = make_bpe(json);
        scratch = bpe->make_scratch();
      },
      [&](const Json& json) {
        const std::string text = json["text"];
        EXPECT_EQ(pieces_of(*bpe, text, *scratch), json["pieces"]);
        EXPECT_EQ(pieces_of(*bpe, text, *scratch), json["pieces"]) << "from the cache";
      });
}

/// Cases of whole texts: "pieces" are those of all words, in raw bytes of the text.
TEST(BpeGolden, ByteLevelTextEqualsTokenizers) {
  std::unique_ptr<Bpe> bpe;
  std::unique_ptr<Model::Scratch> scratch;
  std::vector<Piece> pieces;
  run_golden(
      "byte_bpe.jsonl",
      [&](const Json& json) {
        bpe = make_bpe(json);
        scratch = bpe->make_scratch();
        ASSERT_TRUE(bpe->is_byte_level());
      },
      [&](const Json& json) {
        const std::string text = json["text"];
        Json fast = Json::array();
        Json plain = Json::array();
        ByteLevelSplitter words(text);
        for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
          const auto base = static_cast<uint32_t>(word.data() - text.data());
          pieces.clear();
          bpe->tokenize_bytes(word, *scratch, pieces);
          for (const Piece& piece : pieces) {
            fast.push_back({piece.id, base + piece.begin, base + piece.end});
          }
          std::string visible;
          append_byte_level(word, visible);
          pieces.clear();
          bpe->tokenize(visible, *scratch, pieces);
          for (const Piece& piece : pieces) plain.push_back(piece.id);
        }
        EXPECT_EQ(fast, json["pieces"]);
        ASSERT_EQ(plain.size(), json["pieces"].size());
        for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(plain[i], json["pieces"][i][0]);
      });
}

}  // namespace
}  // namespace hone::text
