#include "plan/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/memory_plan.h"
#include "plan/small_plan.h"

namespace hone {
namespace {

bool alive_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

TEST(MemoryPlan, NeverOverlapsWhatIsAliveTogether) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> blocks(random() % 60);
    size_t total = 0;
    for (Lifetime& block : blocks) {
      block.bytes = random() % 5000;
      block.first = static_cast<int32_t>(random() % 40);
      block.last = block.first + static_cast<int32_t>(random() % 10);
      total += (block.bytes + 63) / 64 * 64;
    }
    const MemoryPlan plan = plan_memory(blocks);
    EXPECT_LE(plan.bytes, total);
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 64, 0u);
      EXPECT_LE(plan.offsets[a] + blocks[a].bytes, plan.bytes);
      for (size_t b = 0; b < a; ++b) {
        if (!alive_together(blocks[a], blocks[b]) || !blocks[a].bytes || !blocks[b].bytes) continue;
        EXPECT_TRUE(plan.offsets[a] + blocks[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + blocks[b].bytes <= plan.offsets[a]);
      }
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Lifetime> blocks;
  for (int32_t i = 0; i < 10; ++i) blocks.push_back({640, i, i + 1});
  EXPECT_EQ(plan_memory(blocks).bytes, 2 * 640u);
}

TEST(Runner, ReplaysForEveryExtent) {
  Plan plan;
  const Value in = plan.input(DType::f32, kRows, 3);
  const Value first = add(plan, in, 1);
  Value x = first;
  for (int i = 0; i < 5; ++i) x = add(plan, x, 1);
  plan.keep(first);
  plan.keep(x);
  ThreadPool pool(1);
  Runner runner(plan, {}, pool);
  OpTimes times;
  runner.set_sink(&times);
  for (const int64_t tokens : {1, 100, 7, 0, 7}) {
    std::vector<float> input(static_cast<size_t>(tokens * 3), 2.f);
    const Extents extents = extents_of(tokens);
    runner.resize(extents);
    runner.bind(in, input.data());
    runner.run();
    for (int64_t i = 0; i < tokens * 3; ++i) {
      ASSERT_EQ(runner.output<float>(first)[i], 3.f);
      ASSERT_EQ(runner.output<float>(x)[i], 8.f);
    }
    EXPECT_EQ(plan.flops(extents), 6. * static_cast<double>(tokens) * 3);
  }
  ASSERT_EQ(times.list().size(), 1u);
  EXPECT_EQ(times.list()[0].calls, 30);
}

TEST(Plan, PrunesWhatNobodyReads) {
  Plan plan;
  const Value x = plan.input(DType::f32, kRows, 1);
  const Value a = add(plan, x, 1);
  const Value unread = add(plan, add(plan, a, 1), 1);
  const Value y = add(plan, a, 2);
  plan.keep(y);
  EXPECT_EQ(plan.steps().size(), 4u);
  plan.prune();
  EXPECT_EQ(plan.steps().size(), 2u);
  EXPECT_NE(unread.id, y.id);
}

TEST(Plan, ReadersOfAnAliasReadTheOriginal) {
  Plan plan;
  const Value x = plan.input(DType::f32, kRows, 1);
  const Value a = add(plan, x, 1);
  for (int i = 0; i < 3; ++i) plan.keep(add(plan, x, 5));  // wants memory meanwhile
  const Value again = add(plan, x, 100);  // not what it was, to see that it is not run
  const Value y = add(plan, again, 2);
  plan.keep(y);
  plan.alias(again, a);
  plan.prune();
  EXPECT_EQ(plan.steps().size(), 5u);
  ThreadPool pool(1);
  Runner runner(plan, {}, pool);
  runner.resize(extents_of(1));
  const float input = 7;
  runner.bind(x, &input);
  runner.run();
  EXPECT_EQ(runner.output<float>(y)[0], 10);
}

}  // namespace
}  // namespace hone
