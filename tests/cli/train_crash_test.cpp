// Runs that are interrupted, killed, or out of disk.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "base/random.h"
#include "cli/small_run.h"
#include "train/checkpoint.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

/// The rest of the line behind these words; the whole text where they are not there.
std::string behind(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  if (at == std::string::npos) return text;
  const size_t begin = at + words.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

void wait_for(const Program& program, const std::string& path) {
  while (!fs::exists(path) && program.runs()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

size_t complete_checkpoints(const std::string& output) {
  return train::list_checkpoints(output).size();
}

/// Whether a checkpoint is in writing: its folder is there, under another name.
bool is_writing(const std::string& output) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(output, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && name.find(".partial-") != std::string::npos &&
        !name.ends_with("-removed")) {
      return true;
    }
  }
  return false;
}

/// Stops the program (SIGSTOP) where `wanted` holds, which is asked again once it stands still.
/// False where the program has ended before.
bool stop_where(const Program& program, const std::function<bool()>& wanted) {
  const auto process = static_cast<id_t>(program.process());
  for (;;) {
    siginfo_t info{};
    ::waitid(P_PID, process, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid != 0) return false;
    if (!wanted()) {
      std::this_thread::yield();
      continue;
    }
    program.signal(SIGSTOP);
    ::waitid(P_PID, process, &info, WSTOPPED | WEXITED | WNOWAIT);
    if (info.si_code != CLD_STOPPED) return false;
    ::waitid(P_PID, process, &info, WSTOPPED);
    if (wanted()) return true;
    program.signal(SIGCONT);
  }
}

// A run that ends before it is looked at, on a busy machine, is made anew so often.
constexpr int kAttempts = 50;

/// Starts the run, which writes into `output` alone, and stops it where `wanted` holds. Null where
/// that could not be had.
std::unique_ptr<Program> stopped_run(const Words& words, const std::string& output,
                                     const std::function<bool()>& wanted) {
  for (int i = 0; i < kAttempts; ++i) {
    auto program = std::make_unique<Program>(words);
    if (stop_where(*program, wanted)) return program;
    fs::remove_all(output);
  }
  return nullptr;
}

void expect_whole_checkpoints(const std::string& output) {
  for (const std::string& checkpoint : train::list_checkpoints(output)) {
    EXPECT_NO_THROW(train::verify_checkpoint(checkpoint)) << checkpoint;
  }
}

/// Taken up again, the run ends as the straight one, and nothing unfinished is left.
void expect_same_end(const std::string& output, const std::string& straight,
                     const Words& more = {}) {
  Words words = {"--resume_from_checkpoint", "last"};
  words.insert(words.end(), more.begin(), more.end());
  const Finished done = hone(small_run(output, words));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(trained_weights(output) == trained_weights(straight));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(output)) {
    EXPECT_EQ(entry.path().string().find(".partial-"), std::string::npos) << entry.path();
  }
}

TEST(Train, InterruptedSavesWhatItHas) {
  const Scratch scratch;
  for (const int number : {SIGINT, SIGTERM}) {
    const std::string output = scratch / ("out" + std::to_string(number));
    Program program(small_run(output, {"--save_strategy", "no", "--max_steps", "100000"}));
    wait_for(program, output + "/log.jsonl");
    program.signal(number);
    const Finished done = program.finish();
    EXPECT_EQ(done.code, 130) << done.err;
    const std::string checkpoint = behind(done.err, "go on from ");
    EXPECT_EQ(hone({"predict", "--model", checkpoint}, "a great film\n").code, 0) << checkpoint;
  }
}

/// Interrupted while a checkpoint is in writing: that one and the one of the last step are whole
/// when the program ends.
TEST(Train, InterruptedInsideAWriteWaitsForIt) {
  const Scratch scratch;
  const std::string output = scratch / "out";
  Program program(small_run(output, {"--max_steps", "100000"}));
  ASSERT_TRUE(stop_where(program, [&] { return is_writing(output); }));
  program.signal(SIGINT);
  program.signal(SIGCONT);
  const Finished done = program.finish();
  EXPECT_EQ(done.code, 130) << done.err;
  EXPECT_EQ(behind(done.err, "go on from "), train::list_checkpoints(output).back());
  EXPECT_FALSE(is_writing(output));
  expect_whole_checkpoints(output);
}

/// A second interrupt ends the program at once, inside the write.
TEST(Train, InterruptedTwiceLeavesNothingUnfinished) {
  const Scratch scratch;
  const std::string output = scratch / "out";
  Program program(small_run(output, {"--max_steps", "100000"}));
  ASSERT_TRUE(
      stop_where(program, [&] { return complete_checkpoints(output) > 1 && is_writing(output); }));
  program.signal(SIGINT);
  program.signal(SIGTERM);
  program.signal(SIGCONT);
  const Finished done = program.finish();
  EXPECT_TRUE(done.code == 130 || done.code == 143) << done.code << done.err;
  EXPECT_FALSE(is_writing(output));
  EXPECT_GT(complete_checkpoints(output), 1u);
  expect_whole_checkpoints(output);
}

/// Killed inside the write of a checkpoint, again and again, each time a few steps further.
TEST(Train, KilledInsideWritesLosesNothing) {
  const Scratch scratch;
  const Words steps = {"--max_steps", "24"};
  ASSERT_EQ(hone(small_run(scratch / "straight", steps)).code, 0);
  const std::string output = scratch / "killed";
  constexpr int kKills = 5;
  int missed = 0;
  for (int i = 0; i < kKills; ++i) {
    SCOPED_TRACE(i);
    const size_t before = complete_checkpoints(output);
    Words words = {"--resume_from_checkpoint", "last"};
    words.insert(words.end(), steps.begin(), steps.end());
    Program program(small_run(output, words));
    const std::chrono::microseconds later(philox(1, 2, static_cast<uint64_t>(i))[0] % 1500);
    const bool stopped = stop_where(program, [&] {
      if (complete_checkpoints(output) == before || !is_writing(output)) return false;
      std::this_thread::sleep_for(later);  // so that it is not always the beginning of the write
      return is_writing(output);
    });
    if (!stopped) {  // it has ended: from the beginning
      ASSERT_LT(++missed, kAttempts);
      fs::remove_all(output);
      i = -1;
      continue;
    }
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish().code, 128 + SIGKILL);
    EXPECT_TRUE(is_writing(output));
    expect_whole_checkpoints(output);
  }
  expect_same_end(output, scratch / "straight", steps);
}

/// The step of a run's last log line; 0 where there is none.
int64_t logged_step(const std::string& output) {
  std::error_code ignored;
  if (!fs::exists(output + "/log.jsonl", ignored)) return 0;
  const std::string log = read_file(output + "/log.jsonl");
  const size_t at = log.rfind("{\"step\":");
  return at == std::string::npos ? 0 : std::stoll(log.substr(at + 8));
}

/// Killed between the batches of a step: its batches begin anew.
TEST(Train, KilledInsideAnAccumulationLosesNothing) {
  const Scratch scratch;
  const Words long_steps = {"--gradient_accumulation_steps",
                            "10",
                            "--max_steps",
                            "18",
                            "--save_steps",
                            "6",
                            "--logging_steps",
                            "1"};
  ASSERT_EQ(hone(small_run(scratch / "straight", long_steps)).code, 0);
  const std::string output = scratch / "killed";
  // A step behind a checkpoint is logged, and will not be saved: it is at the batches of the next.
  const auto program = stopped_run(small_run(output, long_steps), output, [&] {
    const int64_t step = logged_step(output) % 6;
    return complete_checkpoints(output) > 0 && step > 0 && step < 5;
  });
  ASSERT_TRUE(program);
  const std::string newest = train::list_checkpoints(output).back();
  EXPECT_LT(Json::parse(read_file(newest + "/trainer_state.json")).at("global_step"),
            logged_step(output));
  program->signal(SIGKILL);
  EXPECT_EQ(program->finish().code, 128 + SIGKILL);
  expect_whole_checkpoints(output);
  expect_same_end(output, scratch / "straight", long_steps);
}

/// The run ends with one line that names the file, and goes on when there is room again.
void expect_full_disk_error(Program& program, const std::string& output) {
  const Finished done = program.finish();
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  EXPECT_NE(done.err.find("hone: " + output + "/"), std::string::npos) << done.err;
  const std::string checkpoint = behind(done.err, "the last good checkpoint is ");
  EXPECT_EQ(checkpoint, train::list_checkpoints(output).back()) << done.err;
  expect_whole_checkpoints(output);
  EXPECT_EQ(hone({"predict", "--model", checkpoint}, "a great film\n").code, 0) << checkpoint;
}

TEST(Train, FullDiskKeepsTheLastCheckpoint) {
  const Scratch scratch;
  ASSERT_EQ(hone(small_run(scratch / "straight")).code, 0);
  const std::string output = scratch / "out";
  std::signal(SIGXFSZ, SIG_IGN);  // writes beyond the limit fail, as on a full disk
  const auto program = stopped_run(small_run(output), output, [&] {
    const size_t complete = complete_checkpoints(output);
    return complete >= 2 && complete < 15;  // some of the twenty are still to be written
  });
  std::signal(SIGXFSZ, SIG_DFL);
  ASSERT_TRUE(program);
  const rlimit full{1 << 16, 1 << 16};
  ASSERT_EQ(::prlimit(program->process(), RLIMIT_FSIZE, &full, nullptr), 0);
  program->signal(SIGCONT);
  expect_full_disk_error(*program, output);
  expect_same_end(output, scratch / "straight");
}

/// A file system of its own, of a few megabytes.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {
    fs::create_directories(path_);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=24m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  bool enlarge() const {
    return ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT, "size=240m") == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST(Train, FullFileSystemKeepsTheLastCheckpoint) {
  const Scratch scratch;
  const SmallDisk disk(scratch / "disk");
  if (!disk.mounted()) {
    GTEST_SKIP() << "needs the right to mount; train_test's Crash tests model a full disk instead";
  }
  ASSERT_EQ(hone(small_run(scratch / "straight")).code, 0);
  const std::string output = scratch / "disk/out";
  Program program(small_run(output));
  expect_full_disk_error(program, output);
  ASSERT_TRUE(disk.enlarge());
  expect_same_end(output, scratch / "straight");
}

}  // namespace
}  // namespace hone::cli
