#include "text/decoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokenizer_golden.h"

namespace hone::text {
namespace {

/// tests/parity/decoder_goldens.py.
TEST(Decoder, GivesTheTextsOfTokenizers) {
  const std::string path = std::string(HONE_TEST_DIR) + "/goldens/decode.json";
  int64_t cases = 0;
  for (const Json& golden : parse_json(read_file(path), path)) {
    const std::string name = golden["tokenizer"];
    SCOPED_TRACE(name + " " + golden["decoder"].dump());
    Json file = read_golden(name)["tokenizer"];
    file["decoder"] = golden["decoder"];
    const Tokenizer tokenizer = Tokenizer::parse(file.dump(), name);
    for (const Json& one : golden["cases"]) {
      const auto ids = one["ids"].get<std::vector<int32_t>>();
      EXPECT_EQ(tokenizer.decode(ids, true), one["text"].get<std::string>()) << one["ids"];
      EXPECT_EQ(tokenizer.decode(ids, false), one["with_special"].get<std::string>());
      ++cases;
    }
  }
  EXPECT_GT(cases, 500);
}

TEST(Decoder, OneThatIsNotKnownFailsWhenItIsUsed) {
  Json file = read_golden("bert")["tokenizer"];
  file["decoder"] = {{"type", "CTC"}};
  const Tokenizer tokenizer = Tokenizer::parse(file.dump(), "bert.json");
  EXPECT_GT(tokenizer.encode({"a film", {}}).size(), 2u);
  try {
    tokenizer.decode(std::vector<int32_t>{1, 2});
    FAIL() << "was decoded";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(), "bert.json: decoder.type: 'CTC' is not supported");
  }
}

}  // namespace
}  // namespace hone::text
