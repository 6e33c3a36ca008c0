// What a Runner promises beside the values: parts, memory, what is told and what is fetched.
#include "plan/runner.h"

#include <algorithm>
#include <cstring>

#include "plan/small_plan.h"

namespace hone {
namespace {

/// y = x + 1 + 2 + ... + 6, with all in between at hand.
struct Chain {
  static constexpr int64_t kWidth = 5;
  Plan plan;
  Value x = plan.input(DType::f32, kRows, kWidth);
  std::vector<Value> sums;
  std::vector<float> input;
  ThreadPool pool{1};

  Chain() {
    for (int i = 1; i <= 6; ++i) sums.push_back(add(plan, i == 1 ? x : sums.back(), float(i)));
    plan.keep(sums.back());
  }
  void start(Runner& runner, int64_t rows, const Runner::Between& between = {}) {
    runner.resize(extents_of(rows));
    input.resize(static_cast<size_t>(rows * kWidth));
    for (size_t i = 0; i < input.size(); ++i) input[i] = 10.f * static_cast<float>(i);
    runner.bind(x, input.data());
    runner.start(between);
    runner.finish();
  }
  std::vector<float> run(Runner& runner, int64_t rows, const Runner::Between& between = {}) {
    start(runner, rows, between);
    const float* y = runner.output<float>(sums.back());
    return {y, y + rows * kWidth};
  }
};

/// Remembers the steps that it hears of.
class Heard : public RunSink {
 public:
  void on_step(const StepEvent& event) override {
    EXPECT_GE(event.begin, ended_);
    EXPECT_GE(event.seconds, 0);
    ended_ = event.begin + event.seconds;
    steps.push_back(&event.step);
    plans.push_back(&event.plan);
    extents.push_back(event.extents);
    flops += event.step.flops ? event.step.flops(event.extents) : 0;
    bytes += event.plan.bytes_moved(event.step, event.extents);
  }
  void begin_run() { ended_ = 0; }

  std::vector<const Step*> steps;
  std::vector<const Plan*> plans;
  std::vector<Extents> extents;
  double flops = 0;
  double bytes = 0;

 private:
  double ended_ = 0;
};

TEST(Runner, CallsBetweenBehindEachCutAndChangesNothing) {
  Chain chain;
  Runner whole(chain.plan, {}, chain.pool);
  const std::vector<float> wanted = chain.run(whole, 4);
  EXPECT_EQ(wanted[3], 30 + 21);
  Runner cut(chain.plan, {}, chain.pool);
  cut.set_cuts({1, 4, 4, 5});
  Heard heard;
  for (const bool listens : {false, true}) {
    cut.set_sink(listens ? &heard : nullptr);
    std::vector<size_t> cuts;
    std::vector<float> seen;  // the sum that the part before a cut has written last
    const std::vector<float> got = chain.run(cut, 4, [&](size_t number) {
      cuts.push_back(number);
      const size_t steps = std::vector<size_t>{1, 4, 4, 5}[number];
      seen.push_back(cut.output<float>(chain.sums[steps - 1])[3]);
      if (listens) {
        EXPECT_EQ(heard.steps.size(), steps);
      }
    });
    EXPECT_EQ(cuts, (std::vector<size_t>{0, 1, 2, 3}));
    EXPECT_EQ(seen, (std::vector<float>{31, 40, 40, 45}));
    EXPECT_EQ(got, wanted);
  }
  cut.set_sink(nullptr);
  EXPECT_EQ(chain.run(cut, 4), wanted);  // nobody need be called
  cut.resize(extents_of(4));
  cut.run(0, 2);
  cut.run(2, 6);
  EXPECT_EQ(cut.output<float>(chain.sums.back())[3], wanted[3]);
}

TEST(Runner, WithoutAMemoryPlanGivesTheSameInMemoryOfEachValuesOwn) {
  Chain chain;
  constexpr size_t kBytes = 40 * Chain::kWidth * sizeof(float);  // no multiple of 64
  Runner planned(chain.plan, {}, chain.pool);
  Runner plain(chain.plan, {}, chain.pool, {.planned = false});
  EXPECT_EQ(chain.run(plain, 40), chain.run(planned, 40));
  EXPECT_GE(plain.bytes_for(extents_of(40)), 7 * kBytes);  // a step's scratch counts
  EXPECT_LE(planned.bytes_for(extents_of(40)), 4 * (kBytes + 64));
  std::vector<std::byte*> places;
  for (const Value& value : chain.sums) {
    places.push_back(static_cast<std::byte*>(plain.address(value)));
  }
  std::sort(places.begin(), places.end());
  for (size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i], places[i - 1] + kBytes);
  }
  for (size_t i = 0; i < chain.sums.size(); ++i) {  // all are still there
    EXPECT_EQ(plain.output<float>(chain.sums[i])[1], 10.f + float((i + 1) * (i + 2) / 2));
  }
}

TEST(Runner, WithoutAMemoryPlanTakesNoLentMemory) {
  Chain chain;
  const Weight weight{0, DType::f32, 1, 4096};
  Step last{"gradient", {chain.sums.back()}, {}, [=](const Frame& frame) {
              static_cast<float*>(frame.gradient(weight))[0] = 3;
            }};
  last.gradients = last.sets = {weight};
  chain.plan.add(std::move(last));
  std::vector<float> gradient(4096, -1.f);
  const std::vector<void*> arrays = {gradient.data()};
  const GradientArray lent{gradient.data(), gradient.size() * sizeof(float), {0}};
  for (const bool planned : {true, false}) {
    std::fill(gradient.begin(), gradient.end(), -1.f);
    Runner runner(chain.plan, {}, chain.pool, {.gradients = {arrays}, .planned = planned});
    runner.lend(lent);
    chain.start(runner, 8);
    const auto in_lent = [&](const Value& value) {
      const void* at = runner.address(value);
      return at >= gradient.data() && at < gradient.data() + gradient.size();
    };
    EXPECT_EQ(std::any_of(chain.sums.begin(), chain.sums.end(), in_lent), planned);
    EXPECT_EQ(std::count(gradient.begin() + 1, gradient.end(), -1.f) < 4095, planned);
    EXPECT_EQ(gradient[0], 3.f);
  }
}

TEST(Runner, ASinkHearsEveryStepOnceAndInOrder) {
  Chain chain;
  Runner runner(chain.plan, {}, chain.pool);
  Heard heard;
  runner.set_sink(&heard);
  chain.run(runner, 4);
  ASSERT_EQ(heard.steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(heard.steps[i], &chain.plan.steps()[i]);
    EXPECT_EQ(heard.plans[i], &chain.plan);
    EXPECT_EQ(heard.extents[i], extents_of(4));
  }
  constexpr double kElements = 4 * Chain::kWidth;
  EXPECT_EQ(heard.flops, 6 * kElements);
  EXPECT_EQ(heard.flops, chain.plan.flops(extents_of(4)));
  EXPECT_EQ(heard.bytes, 6 * 2 * kElements * sizeof(float));
  heard.begin_run();
  chain.run(runner, 9);
  EXPECT_EQ(heard.steps.size(), 12u);
  EXPECT_EQ(heard.extents.back(), extents_of(9));
  runner.set_sink(nullptr);
  chain.run(runner, 4);
  EXPECT_EQ(heard.steps.size(), 12u);
}

TEST(Runner, OpTimesSumUpByName) {
  Chain chain;
  chain.plan.add({"other", {chain.sums.back()}, {}, [](const Frame&) {}});
  Runner runner(chain.plan, {}, chain.pool);
  OpTimes times;
  runner.set_sink(&times);
  chain.run(runner, 4);
  chain.start(runner, 4);
  ASSERT_EQ(times.list().size(), 2u);
  const OpTime& adds = times.list()[0];
  EXPECT_EQ(adds.name, "add");
  EXPECT_EQ(adds.calls, 12);
  EXPECT_EQ(adds.flops, 12. * 4 * Chain::kWidth);
  EXPECT_EQ(adds.bytes, 12. * 2 * 4 * Chain::kWidth * sizeof(float));
  EXPECT_EQ(times.list()[1].calls, 2);
  EXPECT_EQ(times.list()[1].flops, 0);
  EXPECT_EQ(times.list()[1].bytes, 2. * 4 * Chain::kWidth * sizeof(float));
}

TEST(Runner, OpTimesAreThoseOfLayersWhereAskedFor) {
  Chain chain;
  chain.plan.set_scope("last");
  chain.plan.add({"add", {chain.sums.back()}, {}, [](const Frame&) {}});
  Runner runner(chain.plan, {}, chain.pool);
  OpTimes times(true);
  runner.set_sink(&times);
  chain.run(runner, 4);
  ASSERT_EQ(times.list().size(), 2u);
  EXPECT_EQ(times.list()[0].name, "add");
  EXPECT_EQ(times.list()[1].name, "last: add");
  EXPECT_EQ(times.list()[1].calls, 1);
}

TEST(Runner, WhatIsFetchedStaysWhileLaterRunsGoOn) {
  Chain chain;
  chain.plan.keep(chain.sums[0]);
  Runner runner(chain.plan, {}, chain.pool);
  const std::vector<float> wanted = chain.run(runner, 4);
  const std::vector<Value> both = {chain.sums.back(), chain.sums[0]};
  const auto fetched = runner.fetch(both);
  const auto nothing = runner.fetch({});
  chain.run(runner, 100);  // in an arena that is made anew
  const auto later = runner.fetch(both);
  chain.run(runner, 4);
  EXPECT_NE(nothing, nullptr);
  std::vector<float> got(2 * wanted.size());
  std::memcpy(got.data(), fetched->data(), got.size() * sizeof(float));
  EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 20), wanted);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(got[20 + i], wanted[i] - 20);
  const auto* second = reinterpret_cast<const float*>(later->data());
  EXPECT_EQ(second[499], 4990.f + 21);
  EXPECT_EQ(second[999], 4990.f + 1);
}

}  // namespace
}  // namespace hone
