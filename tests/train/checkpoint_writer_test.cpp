// Checkpoints that are written beside the steps.
#include "train/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "base/file_calls.h"
#include "train/results.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

/// Makes the writing of one checkpoint, or of all, wait for a step of the run.
class SlowDisk : public FileCallHook, public Listener {
 public:
  /// The weights of `checkpoint` are written `behind` steps after its own one, or at the `last`
  /// step; those of all checkpoints where it is -1.
  SlowDisk(int64_t checkpoint, int64_t behind, int64_t last = 12)
      : checkpoint_(checkpoint), behind_(behind), last_(last) {
    set_file_call_hook(this);
  }
  ~SlowDisk() override { set_file_call_hook(nullptr); }

  std::optional<int> before(FileCall call, const std::string& path, const std::string&) override {
    const size_t at = path.find("/checkpoint-");
    const std::string held = "/model.safetensors.partial-" + std::to_string(::getpid());
    if (call != FileCall::write || at == std::string::npos || !path.ends_with(held)) return {};
    const int64_t step = std::stoll(path.substr(at + 12));
    if (checkpoint_ >= 0 && step != checkpoint_) return {};
    const int64_t awaited = std::min(step + behind_, last_);
    const auto patience = std::chrono::minutes(2);  // the test fails then
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [&] { return step_ >= awaited; })) ++kept_up_;
    lock.unlock();
    // The step has been shown; a little later it is saved.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return {};
  }
  void progress(const Progress& at) override {
    Listener::progress(at);
    const std::lock_guard lock(mutex_);
    step_ = at.step;
    changed_.notify_all();
  }
  /// Writes that were held until the run had come so far.
  int kept_up() const { return kept_up_; }

 private:
  int64_t checkpoint_;
  int64_t behind_;
  int64_t last_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t step_ = 0;
  std::atomic<int> kept_up_{0};
};

/// A disk that is full for one checkpoint.
class FullDisk : public FileCallHook {
 public:
  explicit FullDisk(std::string part) : part_(std::move(part)) { set_file_call_hook(this); }
  ~FullDisk() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string& path, const std::string&) override {
    if (call != FileCall::write || path.find(part_) == std::string::npos) return {};
    return ENOSPC;
  }

 private:
  std::string part_;
};

class BesideSteps : public RunTest {
 protected:
  Options saved(const std::string& name, int64_t interval) const {
    Options made = options(name);
    made.evaluation.kind = Interval::Kind::never;
    made.saving = {Interval::Kind::steps, interval};
    return made;
  }
  static std::string bytes_of(const std::string& checkpoint) {
    std::string all;
    for (const char* name : {"/model.safetensors", "/optimizer_exp_avg.safetensors",
                             "/optimizer_exp_avg_sq.safetensors", "/trainer_state.json",
                             "/config.json", "/tokenizer.json"}) {
      all += read_file(checkpoint + name);
    }
    return all;
  }
};

TEST_F(BesideSteps, ACheckpointHoldsItsOwnStepWhileOthersRun) {
  Listener plain;
  run(saved("plain", 4), plain);
  SlowDisk slow(4, 3);
  const Summary summary = run(saved("slow", 4), slow);
  EXPECT_GT(slow.kept_up(), 0);  // step 7 had ended before the weights of step 4 were written
  for (const int64_t step : {4, 8, 12}) {
    EXPECT_TRUE(bytes_of(checkpoint_path(folder("slow"), step)) ==
                bytes_of(checkpoint_path(folder("plain"), step)))
        << step;
  }
  EXPECT_GT(summary.checkpoint_background_seconds, 0);
  EXPECT_GT(to_json(summary).at("memory_bytes").at("checkpoint_copy"), summary.memory.weights);
  EXPECT_EQ(to_json(summary).at("checkpoint_seconds_in_background"),
            summary.checkpoint_background_seconds);
}

/// A file system that has no second names.
class NoLinks : public FileCallHook {
 public:
  NoLinks() { set_file_call_hook(this); }
  ~NoLinks() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string&, const std::string&) override {
    return call == FileCall::link ? std::optional<int>(EPERM) : std::nullopt;
  }
};

TEST_F(BesideSteps, TheFinalModelSharesTheFileOfACheckpointOfItsStep) {
  const auto names = [&](const std::string& run) {
    return std::filesystem::hard_link_count(folder(run) + "/model.safetensors");
  };
  Listener listener;
  run(saved("linked", 4), listener);
  EXPECT_EQ(names("linked"), 2u);
  EXPECT_TRUE(weights(folder("linked")) == weights(checkpoint_path(folder("linked"), 12)));
  Options unsaved = saved("alone", 4);
  unsaved.saving.kind = Interval::Kind::never;
  run(unsaved, listener);
  EXPECT_EQ(names("alone"), 1u);
  EXPECT_TRUE(weights(folder("alone")) == weights(folder("linked")));
  const NoLinks none;
  run(saved("copied", 4), listener);
  EXPECT_EQ(names("copied"), 1u);
  EXPECT_TRUE(weights(folder("copied")) == weights(folder("linked")));
}

TEST_F(BesideSteps, StepsWaitWhereCheckpointsTakeLongerAndSaySoOnce) {
  SlowDisk slow(-1, 1, 8);
  Options made = saved("slow", 1);
  made.max_steps = 8;
  const Summary summary = run(made, slow);
  EXPECT_EQ(std::count_if(slow.lines.begin(), slow.lines.end(),
                          [](const std::string& line) {
                            return line.starts_with("checkpoints take longer to write (") &&
                                   line.ends_with("than the interval between them: steps wait");
                          }),
            1);
  EXPECT_EQ(list_checkpoints(made.output).size(), 8u);
  EXPECT_EQ(summary.last_checkpoint, checkpoint_path(made.output, 8));
}

TEST_F(BesideSteps, AFullDiskEndsTheRunAtTheNextStepWithTheLastGoodCheckpoint) {
  Options made = saved("run", 2);
  made.max_steps = 100'000;
  const auto said = [&] {
    Listener listener;
    const std::string text = complaint([&] { run(made, listener); });
    EXPECT_LT(listener.losses.size(), 90'000u);
    return text;
  };
  {
    const FullDisk full("checkpoint-2.partial");
    const std::string text = said();
    EXPECT_NE(text.find("/checkpoint-2.partial-"), std::string::npos) << text;
    EXPECT_TRUE(
        text.ends_with(": cannot write: No space left on device; no checkpoint was written "
                       "before"))
        << text;
  }
  const FullDisk full("checkpoint-4.partial");
  const std::string text = said();
  EXPECT_NE(text.find("/checkpoint-4.partial-"), std::string::npos) << text;
  EXPECT_TRUE(
      text.ends_with(": cannot write: No space left on device; the last good checkpoint "
                     "is " +
                     checkpoint_path(made.output, 2)))
      << text;
  verify_checkpoint(checkpoint_path(made.output, 2));
  EXPECT_EQ(list_checkpoints(made.output).size(), 1u);
}

TEST_F(BesideSteps, ALogThatCannotBeWrittenNamesTheLastGoodCheckpoint) {
  class FullLog : public SlowDisk {
   public:
    using SlowDisk::SlowDisk;
    std::optional<int> before(FileCall call, const std::string& path,
                              const std::string& to) override {
      if (path.ends_with("/log.jsonl") && call == FileCall::write && ++lines_ == 5) return ENOSPC;
      return SlowDisk::before(call, path, to);
    }

   private:
    int lines_ = 0;
  };
  FullLog full(4, 0);
  EXPECT_EQ(complaint([&] { run(saved("run", 4), full); }),
            folder("run") +
                "/log.jsonl: cannot write: No space left on device; the last good checkpoint is " +
                checkpoint_path(folder("run"), 4));
  verify_checkpoint(checkpoint_path(folder("run"), 4));
}

/// Ends a run with an error of its own behind a step, while a checkpoint is on its way.
class SlowAndFailing : public SlowDisk {
 public:
  using SlowDisk::SlowDisk;
  void progress(const Progress& at) override {
    SlowDisk::progress(at);
    if (at.step == 5) fail(ErrorKind::internal, "CUDA: refused");
  }
};

TEST_F(BesideSteps, AnErrorOfAStepWaitsForTheCheckpointOnItsWay) {
  SlowAndFailing slow(4, 1);
  EXPECT_EQ(complaint([&] { run(saved("run", 4), slow); }),
            "behind step 5: CUDA: refused; the last good checkpoint is " +
                checkpoint_path(folder("run"), 4));
  verify_checkpoint(checkpoint_path(folder("run"), 4));
}

}  // namespace
}  // namespace hone::train
