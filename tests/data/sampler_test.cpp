#include "data/sampler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/reading.h"

namespace hone::data {
namespace {

std::vector<int32_t> lengths_of(int64_t size) {
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < size; ++i) lengths.push_back(static_cast<int32_t>(3 + i * i * 7919 % 61));
  return lengths;
}

using Batches = std::vector<std::vector<int64_t>>;

Batches epoch_of(const Sampler& sampler, int64_t epoch, int64_t from = 0) {
  Batches batches;
  BatchCursor cursor(sampler, {epoch, from});
  while (cursor.position().epoch == epoch) cursor.next(batches.emplace_back());
  EXPECT_EQ(cursor.position(), (DataPosition{epoch + 1, 0}));
  return batches;
}

std::vector<int64_t> flat(const Batches& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

TEST(Permutation, IsOneForEverySize) {
  for (int64_t size = 1; size <= 300; ++size) {
    std::set<int64_t> seen;
    const Permutation permutation(size, 42, 3);
    for (int64_t i = 0; i < size; ++i) {
      const int64_t to = permutation(i);
      ASSERT_TRUE(to >= 0 && to < size);
      seen.insert(to);
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), size);
  }
  const Permutation large(67349, 42, 0);
  std::vector<bool> seen(67349);
  for (int64_t i = 0; i < 67349; ++i) seen[static_cast<size_t>(large(i))] = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 67349);
}

TEST(Permutation, IsEvenlySpread) {
  // Where sample 0..9 of ten go over many epochs: each place one time in ten; and over seeds.
  constexpr int kEpochs = 4000;
  for (const bool by_epoch : {true, false}) {
    std::map<std::pair<int64_t, int64_t>, int> counts;
    std::map<int64_t, int> next;  // distance of neighbours
    for (int e = 0; e < kEpochs; ++e) {
      const auto u = static_cast<uint64_t>(e);
      const Permutation permutation(10, by_epoch ? 1 : u, by_epoch ? u : 1);
      for (int64_t i = 0; i < 10; ++i) ++counts[{i, permutation(i)}];
      ++next[(permutation(1) - permutation(0) + 10) % 10];
    }
    EXPECT_EQ(counts.size(), 100u);
    double chi = 0;  // 81 degrees of freedom: 130 is beyond 99.95%
    for (const auto& [place, count] : counts) {
      const double expected = kEpochs / 10.;
      chi += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi, 130);
    for (const auto& [distance, count] : next) EXPECT_NEAR(count, kEpochs / 9., 100) << distance;
  }
}

TEST(Permutation, IsPinned) {
  // A checkpoint's position means these samples, on every machine and in every later version.
  std::vector<int64_t> order;
  const Permutation permutation(8, 42, 0);
  for (int64_t i = 0; i < 8; ++i) order.push_back(permutation(i));
  EXPECT_EQ(order, (std::vector<int64_t>{3, 5, 4, 1, 7, 0, 2, 6}));
}

struct SamplerCase {
  int64_t size;
  SamplerOptions options;
};

class SamplerTest : public testing::TestWithParam<SamplerCase> {};

TEST_P(SamplerTest, EveryEpochHasEverySampleOnce) {
  const auto lengths = lengths_of(GetParam().size);
  const Sampler sampler(lengths, GetParam().options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    auto all = flat(epoch_of(sampler, epoch));
    std::sort(all.begin(), all.end());
    std::vector<int64_t> wanted(lengths.size());
    std::iota(wanted.begin(), wanted.end(), 0);
    EXPECT_EQ(all, wanted);
  }
}

TEST_P(SamplerTest, AShareIsTheSameSampleInEveryEpochWhateverTheBatches) {
  const auto lengths = lengths_of(GetParam().size);
  SamplerOptions options = GetParam().options;
  options.fraction = 0.3;
  const auto taken = [&](int64_t epoch) {
    const Sampler sampler(lengths, options);
    const auto all = flat(epoch_of(sampler, epoch));
    EXPECT_EQ(sampler.size(), static_cast<int64_t>(all.size()));
    return std::set<int64_t>(all.begin(), all.end());
  };
  const std::set<int64_t> first = taken(0);
  const auto size = static_cast<double>(lengths.size());
  EXPECT_EQ(static_cast<int64_t>(first.size()), std::max<int64_t>(std::llround(0.3 * size), 1));
  EXPECT_EQ(taken(3), first);
  options.max_samples *= 3;  // three ranks take that
  options.max_tokens *= 3;
  EXPECT_EQ(taken(0), first);
  options.seed += 1;
  if (size > 20) {
    EXPECT_NE(taken(0), first);
  }
  options.fraction = 0;
  EXPECT_THROW(Sampler(lengths, options), Error);
}

TEST_P(SamplerTest, LimitsHoldAndBatchesAreCounted) {
  const SamplerOptions& options = GetParam().options;
  const auto lengths = lengths_of(GetParam().size);
  const Sampler sampler(lengths, options);
  const Batches batches = epoch_of(sampler, 1);
  EXPECT_EQ(sampler.batches(1), static_cast<int64_t>(batches.size()));
  for (size_t i = 0; i < batches.size(); ++i) {
    const auto& batch = batches[i];
    ASSERT_FALSE(batch.empty());
    int64_t tokens = 0;
    for (const int64_t sample : batch) tokens += lengths[static_cast<size_t>(sample)];
    const auto samples = static_cast<int64_t>(batch.size());
    EXPECT_TRUE(options.max_samples == 0 || samples <= options.max_samples);
    EXPECT_TRUE(options.max_tokens == 0 || tokens <= options.max_tokens || samples == 1);
    // No batch is smaller than it must be, but the last.
    if (i + 1 == batches.size()) continue;
    const int32_t following = lengths[static_cast<size_t>(batches[i + 1][0])];
    EXPECT_TRUE(samples == options.max_samples ||
                (options.max_tokens > 0 && tokens + following > options.max_tokens));
  }
}

TEST_P(SamplerTest, TakesUpAnywhereWithoutReplay) {
  const auto lengths = lengths_of(GetParam().size);
  const Sampler sampler(lengths, GetParam().options);
  const Batches straight = epoch_of(sampler, 2);
  int64_t index = 0;
  for (size_t i = 0; i < straight.size(); ++i) {
    const Batches rest = epoch_of(sampler, 2, index);
    ASSERT_EQ(rest, Batches(straight.begin() + static_cast<ptrdiff_t>(i), straight.end()));
    index += static_cast<int64_t>(straight[i].size());
  }
}

INSTANTIATE_TEST_SUITE_P(Options, SamplerTest,
                         testing::Values(SamplerCase{1, {}}, SamplerCase{8, {}}, SamplerCase{9, {}},
                                         SamplerCase{103, {7, true, true, 4, 0}},
                                         SamplerCase{257, {7, true, true, 1, 0}},
                                         SamplerCase{103, {7, true, false, 0, 200}},
                                         SamplerCase{103, {7, true, true, 0, 200}},
                                         SamplerCase{103, {7, true, false, 4, 100}},
                                         SamplerCase{50, {7, true, false, 0, 1}},
                                         SamplerCase{31, {7, false, false, 8, 0}},
                                         SamplerCase{5, {7, true, true, 64, 0}},
                                         SamplerCase{5, {7, true, false, 0, 1 << 20}}));

TEST(Sampler, OrderChangesWithSeedAndEpochOnly) {
  const auto lengths = lengths_of(100);
  const Sampler a(lengths, {1, true, false, 8, 0}), same(lengths, {1, true, false, 5, 0}),
      other(lengths, {2, true, false, 8, 0}), still(lengths, {1, false, false, 8, 0});
  EXPECT_EQ(flat(epoch_of(a, 0)), flat(epoch_of(same, 0)));
  EXPECT_NE(flat(epoch_of(a, 0)), flat(epoch_of(a, 1)));
  EXPECT_NE(flat(epoch_of(a, 0)), flat(epoch_of(other, 0)));
  std::vector<int64_t> in_order(100);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(flat(epoch_of(still, 5)), in_order);
}

TEST(Sampler, GroupsByLength) {
  const auto lengths = lengths_of(2000);
  const auto spread = [&](bool grouped) {
    double sum = 0;
    const Sampler sampler(lengths, {1, true, grouped, 8, 0});
    for (const auto& batch : epoch_of(sampler, 0)) {
      int32_t low = INT32_MAX, high = 0;
      for (const int64_t sample : batch) {
        low = std::min(low, lengths[static_cast<size_t>(sample)]);
        high = std::max(high, lengths[static_cast<size_t>(sample)]);
      }
      sum += high - low;
    }
    return sum;
  };
  EXPECT_LT(spread(true), 0.1 * spread(false));
}

TEST(Sampler, BadSettings) {
  const auto lengths = lengths_of(10);
  EXPECT_EQ(error_of([&] {
              Sampler(lengths, {1, true, false, 0, 0});
            }),
            "batches: expected a number of samples or of tokens, got none");
  EXPECT_EQ(error_of([&] { Sampler({}, {}); }), "batches: no samples");
  const Sampler sampler(lengths, {});
  for (const DataPosition& at : {DataPosition{0, 10}, DataPosition{-1, 0}, DataPosition{0, -1}}) {
    EXPECT_EQ(error_of([&] { BatchCursor(sampler, at); }),
              fmt::format("data position: epoch {}, sample {} is outside of the 10 samples",
                          at.epoch, at.index));
  }
}

}  // namespace
}  // namespace hone::data
