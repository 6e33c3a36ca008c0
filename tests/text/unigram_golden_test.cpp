#include "text/models_golden.h"
#include "text/unigram.h"

namespace hone::text {
namespace {

TEST(UnigramGolden, EqualsTokenizers) {
  std::unique_ptr<Unigram> unigram;
  std::unique_ptr<Model::Scratch> scratch;
  run_golden(
      "unigram.jsonl",
      [&](const Json& json) {
        std::optional<int32_t> unk_id;
        if (!json["unk_id"].is_null()) unk_id = json["unk_id"].get<int32_t>();
        unigram = std::make_unique<Unigram>(
            json["pieces"].get<std::vector<std::pair<std::string, double>>>(), unk_id,
            json["byte_fallback"].get<bool>(), "golden");
        scratch = unigram->make_scratch();
      },
      [&](const Json& json) {
        const std::string text = json["text"];
        EXPECT_EQ(pieces_of(*unigram, text, *scratch), json["pieces"]);
        EXPECT_EQ(pieces_of(*unigram, text, *scratch), json["pieces"]) << "from the cache";
      });
}

}  // namespace
}  // namespace hone::text
