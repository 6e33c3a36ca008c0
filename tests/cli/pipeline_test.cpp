// Whoever closes the output ends the program, though its input stays open and silent.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cli/program.h"

namespace hone::cli {
namespace {

/// Whether the program ends by itself within a minute.
bool ends(const Program& program) {
  for (int i = 0; i < 6000; ++i) {
    if (!program.runs()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class ClosedOutput : public testing::TestWithParam<const char*> {};

TEST_P(ClosedOutput, EndsAProgramThatWaitsForInput) {
  Program program({GetParam(), "--model", golden("bert-words"), "--quiet"});
  program.write("the film is great\n");
  ASSERT_NE(program.read_line(), "");
  program.close_output();
  program.write("the film is great\n");
  EXPECT_TRUE(ends(program));
  const Finished done = program.finish();
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
}

INSTANTIATE_TEST_SUITE_P(Commands, ClosedOutput, testing::Values("predict", "embed"));

TEST(Predict, GivesTheSameLinesWithAnyThreadsAndFromAPipe) {
  const Scratch scratch;
  std::string lines;
  for (int i = 0; i < 3000; ++i) {
    for (int k = 0; k < i % 17; ++k) lines += k % 3 == 0 ? "the film " : "great ";
    lines += "\n";
  }
  const std::string file = scratch.write("texts.txt", lines);
  const auto predict = [&](const char* threads, const Words& more, const std::string& input) {
    Words words = {"predict", "--model", golden("bert-words"), "--raw", "--threads", threads};
    words.insert(words.end(), more.begin(), more.end());
    const Finished done = hone(words, input);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  };
  const std::string expected = predict("1", {"--input", file}, "");
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 3000);
  EXPECT_EQ(predict("2", {"--input", file}, ""), expected);
  EXPECT_EQ(predict("3", {}, lines), expected);
}

}  // namespace
}  // namespace hone::cli
