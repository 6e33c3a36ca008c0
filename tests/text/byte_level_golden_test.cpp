#include "text/byte_level.h"
#include "text/models_golden.h"

namespace hone::text {
namespace {

TEST(ByteLevelGolden, EqualsTokenizers) {
  run_golden(
      "byte_level.jsonl", [](const Json&) {},
      [&](const Json& json) {
        const std::string text = json["text"];
        Json words = Json::array();
        ByteLevelSplitter splitter(text);
        for (std::string_view word = splitter.next(); !word.empty(); word = splitter.next()) {
          std::string visible;
          append_byte_level(word, visible);
          words.push_back({visible, word});
        }
        EXPECT_EQ(words, json["words"]);
      });
}

}  // namespace
}  // namespace hone::text
