#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/tokenizer_golden.h"

namespace hone::text {
namespace {

/// A small WordPiece tokenizer.json with one field replaced.
std::string with(const std::string& pointer, const Json& value) {
  Json json = Json::parse(R"({"version": "1.0", "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "truncation": null,
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}})");
  if (!pointer.empty()) json[Json::json_pointer(pointer)] = value;
  return json.dump();
}

std::string error_of(const std::string& json) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(json, "t.json");
    tokenizer.encode({"a ab x", std::nullopt});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TokenizerJson, ReadsWordPiece) {
  const Tokenizer tokenizer = Tokenizer::parse(with("", nullptr), "t.json");
  EXPECT_EQ(tokenizer.encode({"a ab x", std::nullopt}).ids, (std::vector<int32_t>{1, 1, 2, 0}));
  EXPECT_EQ(tokenizer.id_end(), 3);
  EXPECT_EQ(tokenizer.id_of("##b"), 2);
  EXPECT_EQ(tokenizer.token_of(2), "##b");
  EXPECT_EQ(tokenizer.token_of(99), "");
}

struct Bad {
  const char* pointer;
  const char* value;
  const char* expected;
};

class BadTokenizerJson : public ::testing::TestWithParam<Bad> {};

TEST_P(BadTokenizerJson, IsAnErrorThatNamesFileFieldAndValue) {
  const std::string error = error_of(with(GetParam().pointer, Json::parse(GetParam().value)));
  EXPECT_TRUE(error.starts_with("t.json: ")) << error;
  EXPECT_NE(error.find(GetParam().expected), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadTokenizerJson,
    ::testing::Values(
        Bad{"/version", R"("2.0")", "version: '2.0'"},
        Bad{"/normalizer", R"({"type": "Magic"})", "normalizer.type: 'Magic'"},
        Bad{"/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Odd"}]})",
            "normalizer.normalizers[0].type: 'Odd'"},
        Bad{"/normalizer", R"({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})",
            "normalizer.pattern.Regex"},
        Bad{"/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "@@@@"})",
            "normalizer.precompiled_charsmap: not base64"},
        Bad{"/pre_tokenizer", R"({"type": "UnicodeScripts"})",
            "pre_tokenizer.type: 'UnicodeScripts'"},
        Bad{"/pre_tokenizer",
            R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd", "invert": false})",
            "pre_tokenizer.behavior"},
        Bad{"/post_processor", R"({"type": "Odd"})", "post_processor.type: 'Odd'"},
        Bad{"/post_processor", R"({"type": "BertProcessing", "sep": ["x"], "cls": ["y", 1]})",
            "post_processor.sep"},
        Bad{"/post_processor",
            R"({"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}})",
            "post_processor.single: expected A once"},
        Bad{"/model/type", R"("WordLevel")", "model.type: 'WordLevel'"},
        Bad{"/model/type", R"("Unigram")", "model.vocab"},
        Bad{"/model/vocab", R"({"a": 2000000000})", "2000000000"},
        Bad{"/model/vocab", R"({"a": -1})", "model.vocab"},
        Bad{"/model/vocab", R"({"a": 1.5})", "model.vocab"},
        Bad{"/model/vocab", R"({"a": [1]})", "model.vocab"},
        Bad{"/model/vocab", R"({"a": null})", "model.vocab"},
        Bad{"/model/vocab", R"([["a", "b"]])", "model.vocab: entry 0"},
        Bad{"/model/vocab", R"("a")", "model.vocab"}, Bad{"/model/vocab", R"({"a": 0})", "[UNK]"},
        Bad{"/model", "null", "model"}, Bad{"/added_tokens", "{}", "added_tokens"},
        Bad{"/added_tokens", R"([{"content": 5}])", "added_tokens[0].content"},
        Bad{"/truncation", R"({"max_length": -1})", "truncation.max_length"},
        Bad{"/truncation", R"({"max_length": 8, "strategy": "Odd"})", "truncation.strategy"}));

TEST(TokenizerJson, BpeErrorsNameTheField) {
  const auto bpe = [](const char* fields) {
    return with("/model", Json::parse(std::string("{\"type\": \"BPE\", \"vocab\": {\"a\": 0, "
                                                  "\"b\": 1}, ") +
                                      fields + "}"));
  };
  EXPECT_NE(error_of(bpe(R"("merges": ["a b c"])")).find("model.merges: entry 0"),
            std::string::npos);
  EXPECT_NE(error_of(bpe(R"("merges": [["a"]])")).find("model.merges: entry 0"), std::string::npos);
  EXPECT_NE(error_of(bpe(R"("merges": [], "dropout": 0.5)")).find("model.dropout"),
            std::string::npos);
  EXPECT_EQ(error_of(bpe(R"("merges": [], "dropout": null, "unk_token": "a")")), "");
}

TEST(TokenizerJson, RefusesTheSameTokenTwice) {
  const std::string json = R"({"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1, "a": 2}}})";
  EXPECT_NE(error_of(json).find("'a' is there twice"), std::string::npos) << error_of(json);
}

TEST(TokenizerJson, RefusesWhatIsNotJson) {
  const std::string whole = with("", nullptr);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(error_of(whole.substr(0, size)).empty()) << size;
  }
  EXPECT_FALSE(error_of(std::string(100000, '[')).empty());
  EXPECT_FALSE(error_of("{\"model\": {\"vocab\": " + std::string(1000, '[') + "}}").empty());
}

TEST(TokenizerJson, ReadsTruncationAndLeavesItToTheCaller) {
  const Tokenizer tokenizer = Tokenizer::parse(
      with("/truncation", Json::parse(R"({"max_length": 2, "strategy": "OnlyFirst", "stride": 0,
                                          "direction": "Left"})")),
      "t.json");
  ASSERT_TRUE(tokenizer.truncation());
  EXPECT_EQ(tokenizer.truncation()->max_length, 2U);
  EXPECT_EQ(tokenizer.truncation()->strategy, Truncation::Strategy::only_first);
  EXPECT_EQ(tokenizer.encode({"a a a", std::nullopt}).size(), 3U);
  const Encoding cut = tokenizer.encode({"a a x", std::nullopt}, {true, tokenizer.truncation()});
  EXPECT_EQ(cut.ids, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(cut.truncated(), 1U);
}

TEST(TokenizerJson, ReadsOldFilesWithoutAModelType) {
  EXPECT_EQ(error_of(R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"unk_token": "a",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"a": 0}}})"),
            "");
}

}  // namespace
}  // namespace hone::text
