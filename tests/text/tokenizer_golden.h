#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer.h"

namespace hone::text {

/// A tokenizer and what `tokenizers` gives for texts; tests/parity/tokenizers_goldens.py.
inline Json read_golden(const std::string& name) {
  const std::string path = std::string(HONE_TEST_DIR) + "/goldens/tokenizer_" + name + ".json";
  return parse_json(read_file(path), path);
}

inline std::string golden_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string bytes;
  for (const Json& byte : value) bytes += static_cast<char>(byte.get<int>());
  return bytes;
}

inline EncodeOptions golden_options(const Json& golden) {
  EncodeOptions options;
  options.add_special_tokens = golden.value("special_tokens", true);
  if (!golden.contains("max_length")) return options;
  Truncation truncation;
  truncation.max_length = golden["max_length"].get<size_t>();
  const std::string strategy = golden["strategy"];
  truncation.strategy = strategy == "only_first"    ? Truncation::Strategy::only_first
                        : strategy == "only_second" ? Truncation::Strategy::only_second
                                                    : Truncation::Strategy::longest_first;
  truncation.direction =
      golden["direction"] == "left" ? Truncation::Direction::left : Truncation::Direction::right;
  options.truncation = truncation;
  return options;
}

inline void expect_golden(const Tokenizer& tokenizer, const Encoding& encoding,
                          const Json& golden) {
  SCOPED_TRACE(golden.dump());
  EXPECT_EQ(encoding.ids, golden["ids"].get<std::vector<int32_t>>());
  EXPECT_EQ(encoding.type_ids, golden["type_ids"].get<std::vector<int32_t>>());
  EXPECT_EQ(encoding.special, golden["special"].get<std::vector<uint8_t>>());
  std::vector<uint32_t> offsets;
  std::vector<std::string> tokens;
  for (size_t i = 0; i < encoding.size(); ++i) {
    offsets.push_back(encoding.offsets[i].begin);
    offsets.push_back(encoding.offsets[i].end);
    tokens.push_back(tokenizer.token(encoding, i));
  }
  EXPECT_EQ(offsets, golden["offsets"].get<std::vector<uint32_t>>());
  EXPECT_EQ(tokens, golden["tokens"].get<std::vector<std::string>>());
}

inline void expect_goldens(const Tokenizer& tokenizer, const Json& cases) {
  ASSERT_GT(cases.size(), 50U);
  Tokenizer::Workspace workspace(tokenizer);
  Encoding encoding;
  for (const Json& golden : cases) {
    const std::string text = golden_text(golden["text"]);
    const std::string pair = golden["pair"].is_null() ? "" : golden_text(golden["pair"]);
    TextInput input{text, std::nullopt};
    if (!golden["pair"].is_null()) input.pair = pair;
    tokenizer.encode(input, golden_options(golden), workspace, encoding);
    expect_golden(tokenizer, encoding, golden);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace hone::text
