// Runs that a device or want of memory ends.
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda.h"
#include "train/run_fixture.h"

namespace hone::train {
namespace {

class Faults : public RunTest {
 protected:
  static uint64_t free_memory() {
    uint64_t available = 0, total = 0;
    cuda_check(cuda_api().memory_info(&available, &total), "asking for free memory");
    return available;
  }
  /// Many long samples in one batch: memory goes by its tokens.
  Options large(const std::string& name) const {
    std::string rows = "text,label\n";
    for (int i = 0; i < 256; ++i) {
      rows += "a film";
      for (int word = 0; word < 100; ++word) rows += word % 3 == i % 3 ? " great" : " dull";
      rows += i % 2 == 0 ? ",good\n" : ",bad\n";
    }
    Options made = options(name);
    made.data.train_file = write(name + ".csv", rows);
    made.data.max_train_samples = 256;
    made.batch.train = 512;
    made.batch.find_size = true;
    made.evaluation.kind = Interval::Kind::never;
    made.max_steps = 2;
    made.device = "cuda";
    return made;
  }
};

/// Fails as a device does, between steps.
class Failing : public Listener {
 public:
  explicit Failing(int64_t at) : at_(at) {}
  void progress(const Progress& now) override {
    Listener::progress(now);
    if (now.step == at_) fail(ErrorKind::internal, "CUDA: layer 1: linear: refused");
  }

 private:
  int64_t at_;
};

TEST_F(Faults, AFaultNamesTheStepAndLeavesTheLastCheckpoint) {
  Options made = options("a");
  Failing early(1);
  EXPECT_EQ(complaint([&] { run(made, early); }),
            "behind step 1: CUDA: layer 1: linear: refused; no checkpoint was written");
  made.output = folder("b");
  made.saving = {Interval::Kind::steps, 2};
  Failing failing(5);
  const std::string left = made.output + "/checkpoint-4";
  EXPECT_EQ(complaint([&] { run(made, failing); }),
            "behind step 5: CUDA: layer 1: linear: refused; the last good checkpoint is " + left);
  // The run goes on from there as if nothing had happened.
  made.resume = "last";
  Listener rest;
  run(made, rest);
  Options straight = options("c");
  straight.saving = made.saving;
  Listener whole;
  run(straight, whole);
  EXPECT_EQ(weights(made.output), weights(straight.output));
}

/// Takes all memory of a GPU but so many bytes, at once or when the run warns of its batches, which
/// it does behind its estimates.
class Hog : public Listener {
 public:
  Hog(uint64_t leave, bool late) : leave_(leave), late_(late) {
    if (!late) take();
  }
  void warn(const std::string& line) override {
    Listener::warn(line);
    if (late_ && memory_.size() == 0) take();
  }
  bool took() const { return memory_.size() > 0; }

 private:
  void take() {
    uint64_t available = 0, total = 0;
    cuda_check(cuda_api().memory_info(&available, &total), "asking for free memory");
    memory_ = CudaBuffer(available - leave_);
  }
  uint64_t leave_;
  bool late_;
  CudaBuffer memory_;
};

TEST_F(Faults, AGpuWithLittleMemoryGetsSmallerBatches) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  Listener roomy;
  const Summary plain = run(large("roomy"), roomy);
  ASSERT_GT(plain.memory.activations, uint64_t{64} << 20);
  const uint64_t before = free_memory();
  const uint64_t tight = plain.memory.total() - plain.memory.activations / 4;
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late ? "by the allocator" : "by the estimate");
    {
      Hog hog(tight, late);
      const Summary summary = run(large(late ? "late" : "early"), hog);
      EXPECT_TRUE(hog.took());
      EXPECT_EQ(summary.steps, 2);
      EXPECT_LT(summary.memory.activations, plain.memory.activations);
      EXPECT_NEAR(summary.train_loss, plain.train_loss, 1e-2);
    }
    EXPECT_NEAR(double(free_memory()), double(before), double(32 << 20));
    {
      Hog hog(tight, late);
      Options made = large(late ? "late-refused" : "early-refused");
      made.batch.find_size = false;
      const std::string said = complaint([&] { run(made, hog); });
      EXPECT_NE(said.find("would fit: give `batch.train`"), std::string::npos) << said;
      EXPECT_NE(said.find("2 x 128 samples"), std::string::npos) << said;
    }
    EXPECT_NEAR(double(free_memory()), double(before), double(32 << 20));
  }
}

}  // namespace
}  // namespace hone::train
