#include "nn/packing.h"

#include <gtest/gtest.h>

namespace hone::nn {
namespace {

Extents packed(int64_t tokens, int64_t sequences, int64_t reads, int64_t longest) {
  Extents extents;
  extents[kTokens] = tokens;
  extents[kSequences] = sequences;
  extents[kReads] = reads;
  extents[kLongest] = longest;
  return extents;
}

TEST(PackedAxes, RoundTokensByAtMostAThirtySecondOfLargeBatches) {
  const auto axes = packed_axes(true);
  EXPECT_EQ(axes->bucket(packed(1, 1, 1, 1))[kTokens], 8);
  EXPECT_EQ(axes->bucket(packed(33, 1, 1, 33))[kTokens], 64);
  int64_t before = 0;
  for (int64_t tokens = 1; tokens < 70'000; tokens = tokens * 9 / 8 + 1) {
    const int64_t rounded = axes->bucket(packed(tokens, 1, 1, 1))[kTokens];
    EXPECT_GE(rounded, std::max(tokens, before));
    if (tokens >= 1024) {
      EXPECT_LE(rounded * 32, tokens * 33);
    }
    EXPECT_EQ(axes->bucket(packed(rounded, 1, 1, 1))[kTokens], rounded) << "a bucket is its own";
    before = rounded;
  }
}

TEST(PackedAxes, KeepSequencesWhereTheyAreNotPadded) {
  const Extents batch = packed(100, 11, 11, 30);
  const Extents exact = packed_axes(false)->bucket(batch),
                padded = packed_axes(true)->bucket(batch);
  EXPECT_EQ(exact[kSequences], 11);
  EXPECT_EQ(exact[kReads], 11);
  EXPECT_EQ(padded[kSequences], 12);
  EXPECT_EQ(padded[kReads], 12) << "one row of each";
}

TEST(PackedAxes, ReadAllRowsOrOneOfEachSequence) {
  const Extents bucket = packed_axes(true)->bucket(packed(100, 11, 100, 30));
  EXPECT_EQ(bucket[kReads], bucket[kTokens]);
}

TEST(PackedAxes, RoundTheLongestToPowersOfTwoWithinTheTokens) {
  const auto axes = packed_axes(true);
  EXPECT_EQ(axes->bucket(packed(500, 3, 3, 33))[kLongest], 64);
  EXPECT_EQ(axes->bucket(packed(500, 3, 3, 1))[kLongest], 32);
  EXPECT_EQ(axes->bucket(packed(5, 3, 3, 2))[kLongest], 8) << "no sequence has more than all";
}

}  // namespace
}  // namespace hone::nn
