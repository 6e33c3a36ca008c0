// Endless input, readers that go away, interruptions, full disks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <limits>
#include <thread>

#include "cli/program.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

std::string repeated(const std::string& line, int count) {
  std::string lines;
  lines.reserve(line.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) lines += line;
  return lines;
}

class Endless : public testing::TestWithParam<const char*> {};

TEST_P(Endless, IsAnsweredLineByLine) {
  Program program({GetParam(), "--model", golden("bert-words"), "--quiet"});
  for (int i = 0; i < 5; ++i) {
    program.write("the film is great\n");
    const std::string answer = program.read_line();
    ASSERT_TRUE(Json::accept(answer)) << "no answer while the input is open: " << answer;
  }
  program.write("half a line");
  program.close_input();
  EXPECT_TRUE(Json::accept(program.read_line()));
  EXPECT_EQ(program.finish().code, 0);
}

TEST_P(Endless, TakesNoMoreMemoryForMoreLines) {
#ifdef HONE_SANITIZED
  GTEST_SKIP() << "sanitizers keep freed memory";
#endif
  const Words words = {GetParam(), "--model",  golden("bert-words"),
                       "--quiet",  "--output", "/dev/null"};
  // The short run, too, fills what is read ahead. A writer that a busy machine holds up leaves more
  // to be written, up to a limit that both runs have; a program that keeps lines does so every
  // time.
  const std::string few = repeated("the movie was not good , it was dull\n", 20'000);
  const Finished short_run = hone(words, few);
  ASSERT_EQ(short_run.code, 0) << short_run.err;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 10 && least >= short_run.peak_kilobytes + 2048; ++i) {
    const Finished long_run = hone(words, repeated(few, 4));
    ASSERT_EQ(long_run.code, 0) << long_run.err;
    least = std::min(least, long_run.peak_kilobytes);
  }
  EXPECT_LT(least, short_run.peak_kilobytes + 2048);
}

TEST_P(Endless, EndsQuietlyWhenItsReaderDoes) {
  Program program({GetParam(), "--model", golden("bert-words")});
  program.write("the film is great\n");
  ASSERT_NE(program.read_line(), "");
  program.close_output();
  const Finished done = program.finish(repeated("the film is great\n", 20'000));
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.err, "");
}

TEST_P(Endless, IsInterruptedWith130AndLeavesNothing) {
  const Scratch scratch;
  Program program({GetParam(), "--model", golden("bert-words"), "--output", scratch / "out"});
  program.write("the film is great\n");
  while (scratch.entries().empty() && program.runs()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(program.runs());
  program.signal(SIGINT);
  siginfo_t ended{};  // the input is still open, whose end would end it, too
  ::waitid(P_PID, static_cast<id_t>(program.process()), &ended, WEXITED | WNOWAIT);
  const Finished done = program.finish();
  EXPECT_EQ(done.code, 130);
  EXPECT_EQ(scratch.entries(), Words{});
}

INSTANTIATE_TEST_SUITE_P(Commands, Endless, testing::Values("predict", "embed", "tokenize"));

TEST(Output, AFullDiskIsExitCode1) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const char* command : {"predict", "embed", "tokenize"}) {
    const Words words = {command, "--model", golden("bert-words")};
    Words to_device = words;
    to_device.insert(to_device.end(), {"--output", "/dev/full"});
    const Finished device = hone(to_device, "the film\n");
    EXPECT_EQ(device.code, 1);
    EXPECT_EQ(device.err, "hone: /dev/full: cannot write: No space left on device\n");
    const Finished standard = Program(words, {.stdout_path = "/dev/full"}).finish("the film\n");
    EXPECT_EQ(standard.code, 1);
    EXPECT_EQ(standard.err, "hone: standard output: cannot write: No space left on device\n");
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  EXPECT_EQ(Program({"info"}, {.stdout_path = "/dev/full"}).finish().code, 1);
  EXPECT_EQ(Program({"--version"}, {.stdout_path = "/dev/full"}).finish().code, 1);
}

TEST(Input, AClosedStandardInputIsRefused) {
  for (const char* command : {"predict", "embed", "tokenize"}) {
    const Finished done =
        Program({command, "--model", golden("bert-words")}, {.closed = {STDIN_FILENO}}).finish();
    EXPECT_NE(done.code, 0) << command;
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find("standard input"), std::string::npos) << done.err;
  }
}

TEST(Output, APlaceThatCannotBeWrittenIsRefused) {
  const Scratch scratch;
  const auto predict_to = [](const std::string& path) {
    return hone({"predict", "--model", golden("bert-words"), "--output", path}, "the film\n");
  };
  expect_refused(predict_to(scratch / "none/out"), {scratch / "none/out", "No such file"});
  expect_refused(predict_to(scratch.path()), {scratch.path(), "folder"});
  EXPECT_EQ(scratch.entries(), Words{});
}

TEST(Output, ABadLineLeavesTheAnswersBeforeItAndNoFile) {
  const Scratch scratch;
  const std::string lines = "{\"text\":\"a\"}\n{\"text\":\"b\"}\n{\"text\": 3}\n{\"text\":\"c\"}\n";
  const Words words = {"predict", "--model", golden("bert-words"), "--format", "jsonl"};
  const Finished done = hone(words, lines);
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(done.objects().size(), 2u);
  EXPECT_EQ(done.err, "hone: standard input: line 3: field 'text': expected a string, got '3'\n");
  Words to_file = words;
  to_file.insert(to_file.end(), {"--output", scratch / "out"});
  EXPECT_EQ(hone(to_file, lines).code, 2);
  EXPECT_EQ(scratch.entries(), Words{});
}

}  // namespace
}  // namespace hone::cli
