#include "profile/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "plan/runner.h"
#include "profile/op_table.h"

namespace hone::profile {
namespace {

void spin(double seconds) {
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
  }
}

double stage_seconds(const Track& track, Stage stage) {
  return static_cast<double>(track.stage_ns[static_cast<size_t>(stage)]) * 1e-9;
}

/// Runs a plan of two steps, the second of which counts its arithmetic.
class TwoSteps {
 public:
  TwoSteps() {
    const Value in = plan_.input(DType::f32, Axis::one, 4);
    const Value out = plan_.temporary(DType::f32, Axis::one, 4);
    plan_.set_scope("layer 0");
    plan_.add(
        {.name = "first", .reads = {in}, .writes = {out}, .run = [](const Frame&) { spin(2e-4); }});
    plan_.set_scope("layer 1");
    plan_.add({.name = "second",
               .reads = {out},
               .writes = {out},
               .run = [](const Frame&) { spin(1e-4); },
               .flops = [](const Extents&) { return 1000.; }});
    plan_.keep(out);
    runner_.emplace(plan_, WeightArrays{}, pool_);
    runner_->resize({});
    runner_->bind(in, data_);
  }
  void run(Recorder& recorder) {
    recorder.begin_step();
    runner_->set_sink(recorder.sink());
    const Span span("forward", Stage::forward);
    runner_->run();
  }

 private:
  Plan plan_;
  ThreadPool pool_{1};
  std::optional<Runner> runner_;
  float data_[4] = {};
};

TEST(Recorder, NobodyListensWithoutOne) {
  EXPECT_EQ(active(), nullptr);
  const Span span("nothing");  // does nothing, and above all does not crash
}

TEST(Recorder, StagesAndTheRestAddUpToTheWallTime) {
  Recorder recorder;
  {
    const Listening listening(recorder);
    EXPECT_EQ(active(), &recorder);
    const Span loading("reading", Stage::loading);
    spin(2e-3);
    {
      const Span inner("decoding");  // counts as the loading around it
      spin(1e-3);
    }
    const Span evaluation("evaluation", Stage::evaluation);
    spin(3e-3);
  }
  spin(1e-3);
  recorder.finish();
  const Track& main = recorder.main_track();
  EXPECT_GE(stage_seconds(main, Stage::loading), 3e-3);
  EXPECT_GE(stage_seconds(main, Stage::evaluation), 3e-3);
  const double named = stage_seconds(main, Stage::loading) + stage_seconds(main, Stage::evaluation);
  EXPECT_LE(named, recorder.wall_seconds() - 1e-3 + 1e-9);
  int64_t self = 0;
  for (const Event& event : main.events) self += event.self_ns;
  EXPECT_NEAR(static_cast<double>(self) * 1e-9, named, 1e-9) << "no time counts twice";
}

TEST(Recorder, OtherThreadsAreNotInTheStages) {
  Recorder recorder;
  {
    const Listening listening(recorder);
    std::thread([] {
      const Span span("writing a checkpoint", Stage::checkpoint);
      spin(2e-3);
    }).join();
  }
  recorder.finish();
  EXPECT_EQ(stage_seconds(recorder.main_track(), Stage::checkpoint), 0);
  ASSERT_EQ(recorder.tracks().size(), 2U);
  EXPECT_GE(stage_seconds(*recorder.tracks()[1], Stage::checkpoint), 2e-3);
}

TEST(Recorder, OpsAreHeardOfInTheWindowAlone) {
  Recorder recorder({.skipped_steps = 1, .window_steps = 2});
  TwoSteps steps;
  {
    const Listening listening(recorder);
    for (int i = 0; i < 5; ++i) steps.run(recorder);
  }
  recorder.finish();
  EXPECT_EQ(recorder.steps(), 5);
  EXPECT_EQ(recorder.window_steps(), 2);
  const auto& events = recorder.main_track().events;
  EXPECT_EQ(std::ranges::count_if(events, [](const Event& event) { return event.op; }), 4);
  EXPECT_GE(stage_seconds(recorder.main_track(), Stage::forward), 5 * 3e-4)
      << "time of ops is the stage's, inside the window and outside";
}

TEST(Recorder, TooManyEventsAreCounted) {
  Recorder recorder({.most_events = 3});
  {
    const Listening listening(recorder);
    for (int i = 0; i < 5; ++i) const Span span("one");
  }
  recorder.finish();
  EXPECT_EQ(recorder.main_track().events.size(), 3U);
  EXPECT_EQ(recorder.dropped_events(), 2);
}

TEST(Recorder, ADevicesTimeIsSharedByItsOwnClock) {
  Recorder recorder;
  {
    const Listening listening(recorder);
    const Span span("waiting for the device", Stage::device);
    spin(4e-3);
  }
  recorder.split_device({{Stage::forward, 1}, {Stage::backward, 3}});
  recorder.finish();
  const Track& main = recorder.main_track();
  const double forward = stage_seconds(main, Stage::forward);
  EXPECT_GE(forward, 1e-3);
  EXPECT_NEAR(stage_seconds(main, Stage::backward) / forward, 3, 1e-3);
  EXPECT_LT(stage_seconds(main, Stage::device), 1e-8);
}

TEST(OpTable, SharesSumToOneAndLayersAreTold) {
  Recorder recorder({.skipped_steps = 0, .window_steps = 3});
  TwoSteps steps;
  {
    const Listening listening(recorder);
    for (int i = 0; i < 4; ++i) {
      steps.run(recorder);
      spin(1e-4);  // no name explains this
    }
  }
  recorder.finish();
  for (const bool by_layer : {false, true}) {
    const std::vector<OpRow> rows = op_table(recorder, by_layer);
    const double sum = std::accumulate(rows.begin(), rows.end(), 0.,
                                       [](double s, const OpRow& row) { return s + row.share; });
    EXPECT_NEAR(sum, 1, 1e-6);
    const auto find = [&](std::string_view name) {
      return *std::ranges::find_if(rows, [&](const OpRow& row) { return row.name == name; });
    };
    EXPECT_EQ(find("first").calls, 3);
    EXPECT_EQ(find("second").flops, 3000);
    EXPECT_EQ(find("second").layer, by_layer ? "layer 1" : "");
    EXPECT_GT(find("first").bytes, 0);
    EXPECT_GE(find("first").self_seconds, 6e-4);
    EXPECT_GE(find("forward").total_seconds, find("first").total_seconds);
    EXPECT_GT(find("unnamed").share, 0);
    EXPECT_GE(rows.front().share, rows.back().share);
  }
}

}  // namespace
}  // namespace hone::profile
