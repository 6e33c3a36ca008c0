#include <fstream>

#include "base/error.h"
#include "base/thread_pool.h"
#include "text/components.h"
#include "text/tokenizer_golden.h"

namespace hone::text {
namespace {

class Goldens : public ::testing::TestWithParam<const char*> {};

TEST_P(Goldens, EqualTokenizers) {
  const Json golden = read_golden(GetParam());
  expect_goldens(Tokenizer::parse(golden["tokenizer"].dump(), GetParam()), golden["cases"]);
}

TEST_P(Goldens, BatchesOfThreadsEqualSingleCalls) {
  const Json golden = read_golden(GetParam());
  const Tokenizer tokenizer = Tokenizer::parse(golden["tokenizer"].dump(), GetParam());
  std::vector<std::string> texts;
  for (const Json& item : golden["cases"]) texts.push_back(golden_text(item["text"]));
  const std::vector<TextInput> inputs = [&] {
    std::vector<TextInput> out;
    for (const std::string& text : texts) out.push_back({text, std::nullopt});
    return out;
  }();
  ThreadPool pool(3);
  std::vector<Encoding> batch;
  for (int pass = 0; pass < 3; ++pass) {
    tokenizer.encode_batch(inputs, {}, pool, batch);
    ASSERT_EQ(batch.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Encoding alone = tokenizer.encode(inputs[i]);
      EXPECT_EQ(batch[i].ids, alone.ids);
      EXPECT_EQ(batch[i].offsets, alone.offsets);
      EXPECT_EQ(batch[i].odd, alone.odd);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Goldens,
                         ::testing::Values("bert", "bert_cased", "roberta", "roberta_prefix",
                                           "xlm_roberta", "albert", "made_12", "made_35", "made_41",
                                           "made_77"),
                         [](const auto& test) { return std::string(test.param); });

class Fingerprint {
 public:
  void add(std::string_view text) {
    for (const char c : text) byte(c);
    byte('\n');
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  void byte(char c) { value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3u; }
  uint64_t value_ = 0xCBF29CE484222325u;
};

std::string with_code_point(char32_t code) {
  std::string text = "a";
  append_utf8(code, text);
  return text + "b";
}

template <typename Each>
void for_all_code_points(Each&& each) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code < 0xD800 || code >= 0xE000) each(with_code_point(code));
  }
}

std::string normalizer_fingerprint(const Normalizer& normalizer) {
  Fingerprint fingerprint;
  AlignedText text;
  AlignedText spare;
  for_all_code_points([&](const std::string& input) {
    text.assign(input, 0);
    normalizer.apply(text, spare);
    fingerprint.add(text.text());
  });
  return fingerprint.text();
}

std::string words_fingerprint(const PreTokenizer& pre_tokenizer) {
  Fingerprint fingerprint;
  Words words;
  WordsMemory memory;
  for_all_code_points([&](const std::string& input) {
    words.text.assign(input, 0);
    words.ranges = {{0, static_cast<uint32_t>(input.size())}};
    pre_tokenizer.apply(words, memory);
    std::string joined;
    for (const Span& range : words.ranges) {
      if (!joined.empty()) joined += '|';
      joined += words.text.text().substr(range.begin, range.end - range.begin);
    }
    fingerprint.add(joined);
  });
  return fingerprint.text();
}

TEST(Unicode, EveryCodePointIsWhatTokenizersTakesItFor) {
  std::ifstream file(std::string(HONE_TEST_DIR) + "/goldens/tokenizer_unicode.jsonl");
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const Json golden = parse_json(line, "tokenizer_unicode.jsonl");
    SCOPED_TRACE(line);
    if (golden.contains("normalizer")) {
      const auto normalizer = build_normalizer(golden["normalizer"], "golden", "normalizer");
      EXPECT_EQ(normalizer_fingerprint(*normalizer), golden["fnv"]);
    } else {
      std::vector<std::unique_ptr<PreTokenizer>> parts;
      build_pre_tokenizers(golden["pre_tokenizer"], "golden", "pre_tokenizer", parts);
      ASSERT_EQ(parts.size(), 1U);
      EXPECT_EQ(words_fingerprint(*parts[0]), golden["fnv"]);
    }
  }
  EXPECT_EQ(lines, 17);
}

}  // namespace
}  // namespace hone::text
