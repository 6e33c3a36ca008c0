#include "profile/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <map>
#include <numeric>
#include <optional>
#include <random>
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

TEST(Recorder, StepsOfSeveralThreadsAreAllCounted) {
  constexpr int kThreads = 3, kSteps = 3'000'000;
  Recorder recorder({.skipped_steps = 1000, .window_steps = 20'000});
  {
    const Listening listening(recorder);
    std::latch all(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&all] {
        all.arrive_and_wait();
        for (int step = 0; step < kSteps; ++step) begin_step();
      });
    }
    for (std::thread& each : threads) each.join();
  }
  recorder.finish();
  EXPECT_EQ(recorder.steps(), kThreads * kSteps);
  EXPECT_EQ(recorder.window_steps(), 20'000);
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

TEST(OpTable, RowsAreOfTheThreadsThatCompute) {
  constexpr int kWorkers = 3;
  Recorder recorder({.skipped_steps = 0, .window_steps = 100});
  {
    const Listening listening(recorder);
    const Span waiting("waiting for workers");
    std::vector<std::thread> workers;
    for (int i = 0; i < kWorkers; ++i) {
      workers.emplace_back([&] {
        TwoSteps steps;
        for (int step = 0; step < 4; ++step) steps.run(recorder);
      });
    }
    for (std::thread& each : workers) each.join();
  }
  recorder.finish();
  const std::vector<OpRow> rows = op_table(recorder);
  double sum = 0;
  for (const OpRow& row : rows) {
    sum += row.share;
    EXPECT_NE(row.name, "waiting for workers");
    EXPECT_TRUE(!row.op || row.calls == 4 * kWorkers) << row.name << " " << row.calls;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_GT(rows.size(), 3U);
}

/// What the definition says, gap by gap over all events.
std::string cause_by_definition(std::span<const Event> host, int64_t begin, int64_t end) {
  std::map<std::string, int64_t> causes;
  for (const Event& event : host) {
    const int64_t shared = std::min(event.end_ns, end) - std::max(event.begin_ns, begin);
    if (shared > 0) causes[event.name] += shared * (event.depth + 1);
  }
  std::string cause = "unnamed";
  int64_t most = 0;
  for (const auto& [name, shared] : causes) {
    if (shared > most) cause = name;
    most = std::max(most, shared);
  }
  return cause;
}

/// Random spans in spans, in the order in which they end, as a thread's track has them.
void add_nested(std::mt19937& random, int64_t begin, int64_t end, int depth,
                std::vector<Event>& events) {
  static constexpr const char* kNames[] = {"a", "b", "c", "d"};
  std::uniform_int_distribution<int64_t> length(1, 40);
  for (int64_t at = begin + length(random); at < end;) {
    const int64_t to = std::min(end, at + length(random) * (depth < 3 ? 5 : 1));
    if (depth < 3) add_nested(random, at, to, depth + 1, events);
    events.push_back({.name = kNames[random() % 4],
                      .begin_ns = at,
                      .end_ns = to,
                      .depth = static_cast<uint16_t>(depth)});
    at = to + length(random);
  }
}

TEST(IdleGaps, AreExplainedByTheSpansThatFillThem) {
  std::mt19937 random(7);
  std::vector<Event> host, device;
  add_nested(random, 0, 20'000, 0, host);
  for (int64_t at = 0; at < 20'000;) {
    const int64_t end = at + static_cast<int64_t>(random() % 30);
    device.push_back({.name = "kernel", .begin_ns = at, .end_ns = end});
    at = end + static_cast<int64_t>(random() % 60);
  }
  const std::vector<IdleGap> gaps = idle_gaps(device, host, 10e-9);
  ASSERT_GT(gaps.size(), 100U);
  for (const IdleGap& gap : gaps) {
    const auto begin = std::llround(gap.begin * 1e9), end = begin + std::llround(gap.seconds * 1e9);
    EXPECT_EQ(gap.cause, cause_by_definition(host, begin, end)) << begin << " to " << end;
  }
}

/// A look at all spans for each of as many gaps would take hours.
TEST(IdleGaps, OfLongRunsAreFound) {
  constexpr int64_t kEvents = 1'000'000;
  std::vector<Event> host, device;
  for (int64_t i = 0; i < kEvents; ++i) {
    host.push_back({.name = "in", .begin_ns = 100 * i, .end_ns = 100 * i + 90, .depth = 1});
    device.push_back({.name = "kernel", .begin_ns = 100 * i, .end_ns = 100 * i + 50});
  }
  host.push_back({.name = "around", .begin_ns = 0, .end_ns = 100 * kEvents});
  const std::vector<IdleGap> gaps = idle_gaps(device, host, 20e-9);
  ASSERT_EQ(std::ssize(gaps), kEvents - 1);
  EXPECT_EQ(gaps.front().cause, "in");
}

}  // namespace
}  // namespace hone::profile
