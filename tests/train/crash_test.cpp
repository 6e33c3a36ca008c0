// A disk that fails, and a process that dies, at every call that changes the disk.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/error.h"
#include "sanitized.h"
#include "train/checkpoint.h"
#include "train/faulty_disk.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;
using Fault = FaultyDisk::Fault;

/// A thousand runs are faster in memory; what a disk would lose is modelled.
std::string fast_folder() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : testing::TempDir();
}

class Crash : public RunTest {
 protected:
  Crash() : RunTest(fast_folder()) {}

  /// Four steps of a tiny model, each evaluated and saved; two checkpoints stay, the best among
  /// them, which is the final model.
  Options tiny() {
    Options made = options("run");
    made.model.model = HONE_TEST_DIR "/../models/goldens/bert-words";
    made.data.train_file = made.data.validation_file = write(
        "few.csv",
        "text,label\na great film,positive\na dull film,negative\nthe film is great,positive\n"
        "the plot is dull,negative\ngreat,positive\nit is dull,negative\n");
    made.batch.train = 2;
    made.batch.workers = 0;
    made.max_steps = 4;
    made.threads = 1;
    made.saving = made.evaluation = {Interval::Kind::steps, 1};
    made.save_total_limit = 2;
    made.stopping.load_best = true;
    return made;
  }

  /// What a run that nothing disturbs ends with, and the calls that it makes.
  void run_straight() {
    FaultyDisk disk(folder("run"));
    Listener listener;
    run(tiny(), listener);
    wanted_weights_ = weights(folder("run"));
    wanted_state_ = lasting_state(folder("run"));
    calls_ = disk.calls();
    EXPECT_EQ(disk.mistakes(), std::vector<std::string>());
    EXPECT_EQ(disk.unsynced_names(), std::set<std::string>());
  }

  void forget_run() { fs::remove_all(folder("run")); }

  void expect_whole_checkpoints() {
    for (const std::string& checkpoint : list_checkpoints(folder("run"))) {
      EXPECT_EQ(complaint([&] { verify_checkpoint(checkpoint); }), "");
    }
  }

  /// Taken up again, with a disk that is well, the run ends as the straight one.
  void expect_same_end() {
    const FaultyDisk disk(folder("run"));
    Options made = tiny();
    made.resume = "last";
    Listener listener;
    ASSERT_EQ(complaint([&] { run(made, listener); }), "");
    EXPECT_TRUE(weights(folder("run")) == wanted_weights_);
    EXPECT_EQ(lasting_state(folder("run")), wanted_state_);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder("run"))) {
      EXPECT_EQ(entry.path().string().find(".partial-"), std::string::npos) << entry.path();
    }
  }

  /// The calls at which the disk goes wrong: all of them, but a share under sanitizers, where a run
  /// takes twenty times as long.
  std::vector<std::string> chosen_calls() const {
    std::vector<std::string> chosen;
    for (size_t i = 0; i < calls_.size(); i += kSanitized ? 13 : 1) chosen.push_back(calls_[i]);
    return chosen;
  }

  std::string wanted_weights_;
  Json wanted_state_;
  std::vector<std::string> calls_;
};

TEST_F(Crash, EveryFailingCallIsOneErrorThatLosesNothing) {
  run_straight();
  ASSERT_GT(calls_.size(), 200u);
  for (const std::string& call : chosen_calls()) {
    SCOPED_TRACE(call);
    forget_run();
    Listener listener;
    std::string said;
    {
      const FaultyDisk disk(folder("run"), Fault::fails, call);
      try {
        run(tiny(), listener);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io);
        said = error.what();
      }
      EXPECT_TRUE(disk.reached());
    }
    EXPECT_NE(said.find(folder("run")), std::string::npos) << said;
    EXPECT_TRUE(said.find("No space left") != std::string::npos ||
                said.find("Input/output error") != std::string::npos)
        << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    expect_whole_checkpoints();
    expect_same_end();
    if (HasFailure()) break;
  }
}

TEST_F(Crash, AtEveryCallLeavesWhatTheRunGoesOnFrom) {
  run_straight();
  for (const std::string& call : chosen_calls()) {
    SCOPED_TRACE(call);
    forget_run();
    const pid_t child = ::fork();
    if (child == 0) {
      const FaultyDisk disk(folder("run"), Fault::dies, call);
      Listener listener;
      complaint([&] { run(tiny(), listener); });
      ::_exit(1);  // it should have died
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == FaultyDisk::kDied) << status;
    expect_whole_checkpoints();
    expect_same_end();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace hone::train
