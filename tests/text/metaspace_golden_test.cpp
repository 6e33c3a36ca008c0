#include "text/metaspace.h"
#include "text/models_golden.h"

namespace hone::text {
namespace {

/// Words with the code points of the source that they stand for.
Json words_of(const Metaspace& metaspace, const std::string& text) {
  std::string rewritten;
  std::vector<int64_t> sources;  // code point of the source, for each byte
  size_t done = 0;
  int64_t source = 0;
  const auto append = [&](std::string_view character) {
    rewritten += character;
    sources.insert(sources.end(), character.size(), source);
  };
  const auto keep = [&](size_t end) {
    for (; done < end; ++source) {
      const size_t size = decode_utf8(text, done).size;
      append(std::string_view(text).substr(done, size));
      done += size;
    }
  };
  metaspace.rewrite(text, true, [&](size_t begin, size_t end, std::string_view replacement) {
    keep(begin);
    append(replacement);  // one character of the source, whatever the replacement
    done = end;
    ++source;
  });
  keep(text.size());
  std::vector<std::pair<uint32_t, uint32_t>> cuts;
  metaspace.cut(rewritten, cuts);
  Json words = Json::array();
  for (const auto& [begin, end] : cuts) {
    words.push_back(
        {rewritten.substr(begin, end - begin), sources.at(begin), sources.at(end - 1) + 1});
  }
  return words;
}

TEST(MetaspaceGolden, EqualsTokenizers) {
  Metaspace metaspace;
  run_golden(
      "metaspace.jsonl",
      [&](const Json& json) {
        metaspace.replacement = json["replacement"];
        const std::string scheme = json["prepend"];
        metaspace.prepend = scheme == "always"  ? Metaspace::Prepend::always
                            : scheme == "first" ? Metaspace::Prepend::first
                                                : Metaspace::Prepend::never;
        metaspace.split = json["split"];
      },
      [&](const Json& json) { EXPECT_EQ(words_of(metaspace, json["text"]), json["words"]); });
}

}  // namespace
}  // namespace hone::text
