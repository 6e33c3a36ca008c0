#include "text/charsmap.h"
#include "text/models_golden.h"

namespace hone::text {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

/// The normalised text, and by CharsMap::Edit's rule the code point of the source that each of its
/// characters stands for.
struct Result {
  std::string text;
  Json offsets = Json::array();
};

Result golden_form(const CharsMap& map, const std::string& text) {
  struct Step {
    char32_t code;
    int64_t change;
  };
  std::vector<Step> steps;
  size_t done = 0;
  const auto keep = [&](size_t end) {
    for (; done < end; done += decode_utf8(text, done).size) {
      steps.push_back({decode_utf8(text, done).code, 0});
    }
  };
  map.normalize(text, [&](size_t begin, size_t end, std::string_view replacement) {
    keep(begin);
    int64_t left = count_code_points(std::string_view(text).substr(begin, end - begin));
    for (size_t at = 0; at < replacement.size(); at += decode_utf8(replacement, at).size) {
      steps.push_back({decode_utf8(replacement, at).code, left-- > 0 ? 0 : 1});
    }
    if (left > 0 && !steps.empty()) steps.back().change -= left;
    done = end;
  });
  keep(text.size());
  Result result;
  int64_t source = 0;
  for (const Step& step : steps) {
    append_utf8(step.code, result.text);
    if (step.change > 0) {
      const int64_t before = std::max<int64_t>(source - 1, 0);
      result.offsets.push_back({before, before + (source > 0 ? 1 : 0)});
    } else {
      result.offsets.push_back({source, source + 1});
      source += 1 - step.change;
    }
  }
  return result;
}

TEST(CharsMapGolden, EqualsTokenizers) {
  std::unique_ptr<CharsMap> map;
  run_golden(
      "charsmap.jsonl",
      [&](const Json& json) { map = std::make_unique<CharsMap>(from_hex(json["blob"]), "golden"); },
      [&](const Json& json) {
        const Result result = golden_form(*map, json["text"]);
        EXPECT_EQ(result.text, json["normalized"]);
        EXPECT_EQ(result.offsets, json["offsets"]);
      });
}

}  // namespace
}  // namespace hone::text
