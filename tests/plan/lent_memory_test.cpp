// Values in memory that gradients take later.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plan/memory_plan.h"
#include "plan/small_plan.h"

namespace hone {
namespace {

struct Span {
  size_t begin, end;
  int32_t first, last;
  bool meets(const Span& other) const {
    return begin < other.end && other.begin < end && first <= other.last && other.first <= last;
  }
};

constexpr int32_t kSteps = 50;

/// Regions with gaps between some, of which every other is returned sooner than its neighbours.
LentMemory random_lent(std::mt19937& random) {
  LentMemory lent;
  size_t at = 0;
  for (unsigned i = 0; i < random() % 8; ++i) {
    at += random() % 3 == 0 ? 64 * (random() % 5) : 0;
    const size_t bytes = 4 * (1 + random() % 2000);
    lent.regions.push_back({at, bytes, static_cast<int32_t>(random() % kSteps)});
    at += (bytes + 63) / 64 * 64;
  }
  lent.bytes = at + random() % 300;
  std::shuffle(lent.regions.begin(), lent.regions.end(), random);
  return lent;
}

/// All of the lent memory as its owner has it.
std::vector<Span> owners(const LentMemory& lent) {
  std::vector<Span> spans;
  std::vector<bool> covered(lent.bytes);
  for (const LentMemory::Region& region : lent.regions) {
    spans.push_back({region.offset, region.offset + region.bytes, region.until, INT32_MAX});
    std::fill_n(covered.begin() + static_cast<ptrdiff_t>(region.offset), region.bytes, true);
  }
  for (size_t i = 0; i < lent.bytes; ++i) {
    if (!covered[i]) spans.push_back({i, i + 1, INT32_MIN, INT32_MAX});
  }
  return spans;
}

TEST(LentMemory, IsUsedWhileItsOwnerDoesNotWantIt) {
  std::mt19937 random(3);
  size_t lent_blocks = 0;
  for (int round = 0; round < 300; ++round) {
    const LentMemory lent = random_lent(random);
    std::vector<Lifetime> blocks(random() % 40);
    for (Lifetime& block : blocks) {
      block.bytes = random() % 4000;
      block.first = static_cast<int32_t>(random() % kSteps);
      block.last = block.first + static_cast<int32_t>(random() % 20);
    }
    const MemoryPlan plan = plan_memory(blocks, lent);
    ASSERT_GE(plan.lent, lent.bytes);
    std::vector<Span> taken = owners(lent);
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].bytes == 0) continue;
      const Span own{plan.offsets[i], plan.offsets[i] + blocks[i].bytes, blocks[i].first,
                     blocks[i].last};
      ASSERT_EQ(own.begin % 64, 0u);
      ASSERT_TRUE(own.end <= lent.bytes || own.begin >= plan.lent) << "in both";
      ASSERT_LE(own.end, plan.lent + plan.bytes);
      for (const Span& other : taken) ASSERT_FALSE(own.meets(other));
      taken.push_back(own);
      lent_blocks += own.begin < plan.lent ? 1 : 0;
    }
  }
  EXPECT_GT(lent_blocks, 1000u);
}

/// Gradients come in the reverse order of their weights, as activations go: what a network of so
/// many layers keeps finds the place of the layers before.
TEST(LentMemory, TakesActivationsOfTheLayersBehind) {
  constexpr int32_t kLayers = 10;
  LentMemory lent;
  std::vector<Lifetime> blocks;
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    const int32_t backward = 2 * kLayers - 1 - layer;
    lent.regions.push_back({static_cast<size_t>(layer) * 1024, 1024, backward});
    blocks.push_back({1024, layer, backward});
  }
  lent.bytes = kLayers * 1024;
  const MemoryPlan plan = plan_memory(blocks, lent);
  EXPECT_EQ(plan.bytes, 1024u);  // the first layer's
  for (size_t layer = 1; layer < kLayers; ++layer) {
    EXPECT_EQ(plan.offsets[layer], (layer - 1) * 1024);
  }
}

/// A chain of sums whose "gradients" are set on the way, over values that lie where they will be.
TEST(LentMemory, HoldsValuesAndThenGradients) {
  constexpr int64_t kCount = 64;
  constexpr int32_t kWeights = 6;
  Plan plan;
  const Value in = plan.input(DType::f32, kRows, 1);
  std::vector<Value> kept = {in};
  const auto add = [&](Value a, Value b) {
    const Value sum = plan.temporary(DType::f32, kRows, 1);
    plan.add({"add", {a, b}, {sum}, [=](const Frame& frame) {
                for (int64_t i = 0; i < frame.rows(sum); ++i) {
                  frame.data<float>(sum)[i] =
                      frame.data<const float>(a)[i] + frame.data<const float>(b)[i];
                }
              }});
    return sum;
  };
  for (int i = 0; i < kWeights; ++i) kept.push_back(add(kept.back(), in));  // in * (i + 2)
  Value x = kept.back();
  for (int32_t slot = kWeights - 1; slot >= 0; --slot) {
    x = add(x, kept[static_cast<size_t>(slot)]);
    const Weight weight{slot, DType::f32, kCount, 1};
    Step step{"gradient", {x}, {}, [=](const Frame& frame) {
                std::copy_n(frame.data<const float>(x), kCount,
                            static_cast<float*>(frame.gradient(weight)));
              }};
    step.gradients = step.sets = {weight};
    plan.add(std::move(step));
  }
  plan.keep(x);
  std::vector<float> gradients(kWeights * kCount);
  std::vector<void*> pointers;
  GradientArray array{gradients.data(), gradients.size() * sizeof(float), {}};
  for (int32_t slot = 0; slot < kWeights; ++slot) {
    array.offsets.push_back(static_cast<size_t>(slot * kCount) * sizeof(float));
    pointers.push_back(gradients.data() + slot * kCount);
  }
  ThreadPool pool(1);
  Runner lending(plan, {}, pool, {.gradients = {pointers}});
  Runner alone(plan, {}, pool, {.gradients = {pointers}});
  lending.lend(array);
  const Extents extents = extents_of(kCount);
  EXPECT_LT(lending.bytes_for(extents), alone.bytes_for(extents));
  const auto run = [&](Runner& runner) {
    std::vector<float> input(kCount);
    for (int64_t i = 0; i < kCount; ++i) input[static_cast<size_t>(i)] = static_cast<float>(i + 1);
    std::fill(gradients.begin(), gradients.end(), -1.f);
    runner.resize(extents);
    runner.bind(in, input.data());
    runner.run();
    std::vector<float> result = gradients;
    result.push_back(runner.output<float>(x)[3]);
    return result;
  };
  const std::vector<float> expected = run(alone);
  EXPECT_EQ(run(lending), expected);
  EXPECT_EQ(run(lending), expected);
}

}  // namespace
}  // namespace hone
