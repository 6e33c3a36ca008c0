// A model with early exits under a memory budget, as a user runs it.
#include <gtest/gtest.h>

#include <regex>

#include "cli/program.h"
#include "infer/exiting_folder.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

const std::string kLines = "the film is great\nthe movie was not good , it was dull\na\n";

Finished predict(const std::string& model, const Words& more) {
  Words words = {"predict", "--model", model, "--quiet", "--raw", "--threads", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return hone(words, kLines);
}

TEST(ExitsBudget, HoldsWithTheHeadsOfAllExits) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const Scratch scratch;
  // Heads of 5 MB in all beside 30 MB of layers.
  const Json sizes = {{"hidden_size", 512},
                      {"num_attention_heads", 4},
                      {"intermediate_size", 256},
                      {"num_hidden_layers", 6}};
  for (const char* method : {"pabee", "deebert"}) {
    const std::string plain = scratch / method;
    infer::write_exiting_folder("bert-words", method, sizes, plain);
    const std::string packed = plain + "-stream";
    ASSERT_EQ(hone({"convert", "--model", plain, "--output", packed, "--stream", "--quiet"}).code,
              0);
    const Finished none = predict(packed, {"--memory-budget", "1MB"});
    expect_refused(none, {"--memory-budget", "the least is"});
    std::smatch least;
    ASSERT_TRUE(std::regex_search(none.err, least, std::regex("the least is (\\d+) MB")));
    // A little more, for pages that one run touches and another does not.
    const int64_t enough = std::stoll(least[1]) + 1;
    const std::string budget = std::to_string(enough) + "MB";
    EXPECT_LT(enough, 30) << "all of it would fit";
    for (const Words& how : {Words{}, Words{"--no-exits"}, Words{"--deadline-ms", "1e6"}}) {
      const Finished whole = predict(plain, how);
      ASSERT_EQ(whole.code, 0) << whole.err;
      Words under = how;
      under.insert(under.end(), {"--memory-budget", budget});
      const Finished streamed = predict(packed, under);
      EXPECT_EQ(streamed.code, 0) << streamed.err;
      EXPECT_EQ(streamed.out, whole.out) << method;
      EXPECT_LE(streamed.peak_kilobytes * 1024, enough * 1'000'000) << method;
    }
  }
}

// Matrices that are converted as they come are blocks of the allocator's, which keeps freed ones.
TEST(ExitsBudget, HoldsWhereAPlainFolderIsConverted) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const Scratch scratch;
  const std::string plain = scratch / "plain";
  const Json sizes = {{"hidden_size", 768},
                      {"num_attention_heads", 12},
                      {"intermediate_size", 768},
                      {"num_hidden_layers", 6}};
  infer::write_exiting_folder("bert-words", "pabee", sizes, plain);
  for (const char* dtype : {"bf16", "int8"}) {
    const Words how = {"--no-exits", "--dtype", dtype, "--memory-budget"};
    const auto under = [&](const std::string& budget) {
      Words words = how;
      words.push_back(budget);
      return predict(plain, words);
    };
    std::smatch least;
    const Finished none = under("1MB");
    ASSERT_TRUE(std::regex_search(none.err, least, std::regex("the least is (\\d+) MB")));
    for (const int64_t more : {1, 6}) {
      const int64_t budget = std::stoll(least[1]) + more;
      const Finished done = under(std::to_string(budget) + "MB");
      EXPECT_EQ(done.code, 0) << done.err;
      EXPECT_LE(done.peak_kilobytes * 1024, budget * 1'000'000) << dtype;
    }
  }
}

}  // namespace
}  // namespace hone::cli
