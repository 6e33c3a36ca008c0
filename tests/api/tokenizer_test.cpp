// Tokenizers without models, and the list of devices, through the public interface.
#include "hone/tokenizer.h"

#include <gtest/gtest.h>

#include "base/version.h"
#include "hone/device.h"
#include "hone/hone.h"

namespace hone {
namespace {

const std::string kWords = HONE_TEST_DIR "/../models/goldens/bert-words";

TEST(ApiTokenizer, GivesTheModelsTokens) {
  const Tokenizer tokenizer = Tokenizer::load(kWords);
  const Tokens tokens = tokenizer.tokenize("the film is great");
  EXPECT_EQ(tokens.ids, Model::load(kWords).tokenize("the film is great").ids);
  EXPECT_EQ(tokens.tokens.front(), "[CLS]");
  EXPECT_EQ(tokenizer.tokenize("the film is great", false).ids,
            std::vector<int32_t>(tokens.ids.begin() + 1, tokens.ids.end() - 1));
  EXPECT_EQ(tokenizer.decode(tokens.ids), "the film is great");
  EXPECT_GT(tokenizer.vocabulary_size(), tokens.ids.front());
  EXPECT_THROW(Tokenizer::load(kWords + "/none"), Error);
}

TEST(ApiDevices, HaveTheProcessorFirst) {
  const std::vector<Device> found = devices();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].name, "cpu");
  EXPECT_GE(found[0].cores, 1);
  EXPECT_GT(found[0].memory_bytes, 0U);
  EXPECT_EQ(found[0].missing, "");
  EXPECT_EQ(found.size() == 1, !missing_for_gpu().empty());
  EXPECT_STREQ(version(), kVersion);
}

}  // namespace
}  // namespace hone
