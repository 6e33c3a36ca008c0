// Parts, sinks and fetched values on a GPU: step by step, as a graph, and while somebody listens.
#include <cstring>

#include "plan/cuda_executor.h"
#include "plan/small_plan.h"

namespace hone {
namespace {

/// Fills one array with 1, 2, 3, ... step by step: what it holds says how far a run is.
class GpuRunner : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
    plan_.set_device(DeviceKind::cuda);
    auto axes = std::make_shared<Axes>();
    axes->count(kRows, "rows",
                [](const Extents& batch, const Extents&) { return (batch[kRows] + 7) / 8 * 8; });
    plan_.set_axes(axes);
    y_ = plan_.temporary(DType::u8, kRows, 1);
    rows_ = plan_.temporary(DType::u8, kRows, 1);
    for (int i = 1; i <= 5; ++i) {
      plan_.add({"fill", {}, {y_}, [this, i](const Frame& frame) {
                   const auto bytes = static_cast<size_t>(frame.rows(y_));
                   cuda_stream().fill(frame.data<void>(y_), i, bytes);
                 }});
    }
    plan_.add({"rows", {}, {rows_}, [this](const Frame& frame) {
                 const int64_t rows = frame.rows(rows_);
                 cuda_stream().fill(frame.data<void>(rows_), static_cast<int>(rows),
                                    static_cast<size_t>(rows));
               }});
    plan_.keep(y_);
    plan_.keep(rows_);
  }

  Plan plan_;
  Value y_;
  Value rows_;
  ThreadPool pool_{1};
};

class GpuSteps : public RunSink {
 public:
  void on_step(const StepEvent& event) override {
    EXPECT_GE(event.begin, begin_);
    begin_ = event.begin;
    steps.push_back(&event.step);
  }
  std::vector<const Step*> steps;

 private:
  double begin_ = 0;
};

TEST_F(GpuRunner, CallsBetweenBehindEachCut) {
  Runner runner(plan_, {}, pool_);
  runner.set_cuts({2, 3});
  GpuSteps heard;
  for (int turn = 0; turn < 4; ++turn) {  // step by step, captured, replayed, listened to
    if (turn == 3) runner.set_sink(&heard);
    std::vector<int> seen;
    runner.resize(extents_of(5));
    runner.start([&](size_t cut) {
      EXPECT_EQ(cut, seen.size());
      seen.push_back(runner.output<uint8_t>(y_)[4]);
    });
    runner.finish();
    EXPECT_EQ(seen, (std::vector<int>{2, 3})) << "turn " << turn;
    EXPECT_EQ(runner.output<uint8_t>(y_)[4], 5);
  }
  EXPECT_EQ(runner.cuda()->counts().replays, 2);
  ASSERT_EQ(heard.steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(heard.steps[i], &plan_.steps()[i]);
}

TEST_F(GpuRunner, WithoutAPlanCapturesNoGraph) {
  Runner runner(plan_, {}, pool_, {.planned = false});
  for (int turn = 0; turn < 3; ++turn) {
    runner.resize(extents_of(5));
    runner.run();
    EXPECT_EQ(runner.output<uint8_t>(y_)[4], 5);
    EXPECT_EQ(runner.output<uint8_t>(rows_)[0], 8);  // the bucket has 8
  }
  EXPECT_EQ(runner.cuda()->counts().graphs, 0);
  EXPECT_EQ(runner.cuda()->counts().eager, 3);
}

TEST_F(GpuRunner, WhatIsFetchedStaysWhileLaterRunsGoOn) {
  Runner runner(plan_, {}, pool_);
  const std::vector<Value> both = {rows_, y_};
  std::vector<std::shared_ptr<Fetched>> fetched;
  for (const int64_t rows : {5, 21, 3}) {
    runner.resize(extents_of(rows));
    runner.run();
    fetched.push_back(runner.fetch(both));
  }
  const auto expect = [&](size_t run, int64_t rows, int bucket) {
    const std::byte* data = fetched[run]->data();
    for (int64_t i = 0; i < 2 * rows; ++i) {
      ASSERT_EQ(static_cast<int>(data[i]), i < rows ? bucket : 5) << "run " << run;
    }
  };
  expect(0, 5, 8);
  expect(1, 21, 24);
  expect(2, 3, 8);
}

}  // namespace
}  // namespace hone
