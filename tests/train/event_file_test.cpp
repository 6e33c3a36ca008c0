#include "train/event_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "train/json_log.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

class LogTest : public testing::Test {
 protected:
  LogTest() {
    std::string name = (fs::temp_directory_path() / "hone-train-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~LogTest() override { fs::remove_all(folder_); }

  /// Says what TensorBoard's reader makes of the events and the log; 77 where there is none.
  int compare() const {
    const char* given = std::getenv("HONE_PYTHON");
    const std::string command =
        fmt::format("'{}' '{}/../parity/events_read.py' '{}/runs' '{}/log.jsonl' 2>/dev/null",
                    given ? given : "python3", HONE_TEST_DIR, folder_, folder_);
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string folder_;
};

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(TfRecord, Framing) {
  // This is tensorflow's first record of every event file, at time 0.
  const std::string message = std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2";
  const std::string record = tf_record(message);
  ASSERT_EQ(record.size(), 8 + 4 + message.size() + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(8, 4), "\xa3\x7f\x4b\x22");
  EXPECT_EQ(record.substr(12, message.size()), message);
}

TEST(EventMessage, Bytes) {
  // wall_time 2.0, step 300, summary {epoch 0.5, loss 1.5}
  const std::string epoch(
      "\x0a\x0c\x0a\x05"
      "epoch\x15\x00\x00\x00\x3f",
      14);
  const std::string loss(
      "\x0a\x0b\x0a\x04"
      "loss\x15\x00\x00\xc0\x3f",
      13);
  EXPECT_EQ(event_message({300, 0.5, {{"loss", 1.5}}}, 2.0),
            std::string("\x09\0\0\0\0\0\0\0\x40\x10\xac\x02\x2a\x1b", 14) + epoch + loss);
}

TEST_F(LogTest, TensorBoardReadsWhatTheLogSays) {
  {
    EventFile events(folder_ + "/runs");
    JsonLog log(folder_ + "/log.jsonl");
    for (int64_t step = 1; step <= 3000; ++step) {
      LogEntry entry{step, static_cast<double>(step) / 1000, {}};
      entry.values = {{"loss", 1. / static_cast<double>(step)}, {"learning_rate", 5e-5}};
      if (step % 500 == 0) entry.values.emplace_back("eval/accuracy", 0.9);
      if (step == 700) entry.values.emplace_back("grad_norm", std::nan(""));
      events.write(entry);
      log.write(entry);
    }
  }
  // Resumed behind step 2000: both forget what was said of later steps.
  EventFile events(folder_ + "/runs", 2000);
  JsonLog log(folder_ + "/log.jsonl", 2000);
  for (int64_t step = 2001; step <= 2100; ++step) {
    const LogEntry entry{step, 2.5, {{"loss", -1}}};
    events.write(entry);
    log.write(entry);
  }
  const int result = compare();
  if (result == 77 || result == 127) {
    GTEST_SKIP() << "no Python with tensorboard (HONE_PYTHON names one)";
  }
  EXPECT_EQ(result, 0);
  log.write({2101, 3, {{"loss", 5}}});
  EXPECT_EQ(compare(), 1) << "the comparison sees no difference where there is one";
}

TEST_F(LogTest, FilesOfOneSecondHaveNamesOfTheirOwn) {
  const EventFile first(folder_), second(folder_);
  EXPECT_NE(first.path(), second.path());
  EXPECT_NE(first.path().find("/events.out.tfevents."), std::string::npos);
  EXPECT_GT(fs::file_size(first.path()), 30u);
}

TEST_F(LogTest, PlacesThatCannotBeWritten) {
  const auto complaint = [](const std::string& folder) -> std::string {
    try {
      EventFile events(folder);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.what();
    }
    return "no error";
  };
  EXPECT_TRUE(complaint("/proc/none").starts_with("/proc/none: cannot create: "));
}

TEST_F(LogTest, JsonLines) {
  EXPECT_EQ(json_line({3, 0.5, {{"loss", 0.25}, {"a\"b", 1e-7}}}),
            "{\"step\":3,\"epoch\":0.5,\"loss\":0.25,\"a\\\"b\":1e-07}\n");
  EXPECT_EQ(json_line({0, 0, {{"x", std::numeric_limits<double>::infinity()}}}),
            "{\"step\":0,\"epoch\":0,\"x\":null}\n");
}

TEST_F(LogTest, JsonLogResumes) {
  const std::string path = folder_ + "/log.jsonl";
  {
    JsonLog log(path);
    for (int64_t step = 1; step <= 4; ++step) log.write({step, 0, {{"loss", 1}}});
  }
  const std::string four = read_file(path);
  write_file(path, four + "no json\n[1]\n{\"step\":1,\"ep");  // killed in the middle of a line
  {
    JsonLog log(path, 3);
    log.write({4, 0, {{"loss", 2}}});
  }
  EXPECT_EQ(read_file(path),
            four.substr(0, four.rfind("{\"step\":4")) + "{\"step\":4,\"epoch\":0,\"loss\":2}\n");
  JsonLog anew(path);
  EXPECT_EQ(read_file(path), "");
}

}  // namespace
}  // namespace hone::train
