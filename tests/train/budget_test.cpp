// How large batches get, and how they are made smaller where memory is short.
#include "train/budget.h"

#include <gtest/gtest.h>

#include <vector>

namespace hone::train {
namespace {

BatchSize largest(const std::vector<int32_t>& lengths, int64_t samples, int64_t tokens) {
  data::SamplerOptions options;
  options.shuffle = false;
  options.max_samples = samples;
  options.max_tokens = tokens;
  return largest_batch(data::Sampler(lengths, options), 1);
}

TEST(LargestBatch, CountsSequencesAndTokensApart) {
  const std::vector<int32_t> lengths = {2, 2, 2, 10, 9, 1};
  const BatchSize by_samples = largest(lengths, 2, 0);
  EXPECT_EQ(by_samples.samples, 2);
  EXPECT_EQ(by_samples.units, 12);
  const BatchSize by_tokens = largest(lengths, 0, 10);  // 2 2 2, 10, 9 1
  EXPECT_EQ(by_tokens.samples, 3);
  EXPECT_EQ(by_tokens.units, 10);
}

TEST(LargestBatch, IsBoundedBeforeLengthsAreKnown) {
  const auto bound = [](int64_t samples, int64_t tokens) {
    return largest_batch(BatchOptions{.train = samples, .max_tokens = tokens}, 128);
  };
  EXPECT_EQ(bound(8, 0).samples, 8);
  EXPECT_EQ(bound(8, 0).units, 8 * 128);
  EXPECT_EQ(bound(8, 300).units, 300);
  EXPECT_EQ(bound(8, 5000).units, 8 * 128);
  EXPECT_EQ(bound(0, 300).units, 300);
  EXPECT_EQ(bound(0, 300).samples, 300);
  EXPECT_EQ(bound(0, 5).units, 128);  // a longer sample is a batch of its own
  EXPECT_EQ(bound(0, int64_t{1} << 40).units, INT32_MAX);
}

TEST(HalvedBatches, BeginWithWhatTheLargestHas) {
  BatchOptions samples{.train = 9};
  halve(samples, {9, 400});
  EXPECT_EQ(step_limits(samples), "2 x 5 samples");
  BatchOptions tokens{.train = 0, .max_tokens = int64_t{1} << 40};
  halve(tokens, {30, 401});
  EXPECT_EQ(step_limits(tokens), "2 x 201 tokens");
  halve(tokens, {15, 200});
  EXPECT_EQ(step_limits(tokens), "4 x 100 tokens");
  BatchOptions both{.train = 8, .max_tokens = 100};
  EXPECT_EQ(step_limits(both), "8 samples, at most 100 tokens");
  halve(both, {8, 100});
  EXPECT_EQ(step_limits(both), "2 x 4 samples, at most 50 tokens");
}

}  // namespace
}  // namespace hone::train
