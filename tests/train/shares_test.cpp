#include "train/shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace hone::train {
namespace {

using Counts = std::vector<int64_t>;

TEST(ShareCounts, AreDifferencesOfRoundedCumulativeShares) {
  EXPECT_EQ(share_counts(8, std::vector<double>{1, 1}), (Counts{4, 4}));
  EXPECT_EQ(share_counts(8, std::vector<double>{1, 1, 1}), (Counts{3, 2, 3}));
  EXPECT_EQ(share_counts(32, std::vector<double>{1.78, 1}), (Counts{20, 12}));
  EXPECT_EQ(share_counts(2, std::vector<double>{1, 1, 1, 1}), (Counts{1, 0, 1, 0}));
  EXPECT_EQ(share_counts(0, std::vector<double>{1, 2}), (Counts{0, 0}));
  EXPECT_EQ(share_counts(5, std::vector<double>{7}), (Counts{5}));
}

TEST(ShareCounts, AddUpForAnyShares) {
  for (int64_t samples = 0; samples < 70; ++samples) {
    for (const std::vector<double>& shares :
         {std::vector<double>{0.1, 0.2, 0.7}, {1e-9, 1}, {3, 3, 3, 3, 3, 3, 3}, {0.28, 0.5, 0.5}}) {
      const Counts counts = share_counts(samples, shares);
      EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), samples);
      EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 0);
    }
  }
}

/// Deals samples 0.. of these lengths and gives each rank's.
std::vector<Counts> dealt(const std::vector<int32_t>& lengths, const Counts& counts) {
  std::vector<Counts> parts;
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    Counts samples(lengths.size());
    std::iota(samples.begin(), samples.end(), int64_t{0});
    deal(lengths, counts, rank, samples);
    parts.push_back(samples);
  }
  return parts;
}

TEST(Deal, GivesEverySampleToOneRankInItsOrder) {
  const std::vector<int32_t> lengths = {5, 9, 1, 7, 7, 2, 30, 4, 4, 11, 6};
  for (const Counts& counts : {Counts{11}, {6, 5}, {0, 11}, {3, 0, 8}, {4, 3, 2, 2}}) {
    const std::vector<Counts> parts = dealt(lengths, counts);
    Counts all;
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      EXPECT_EQ(std::ssize(parts[rank]), counts[rank]);
      EXPECT_TRUE(std::is_sorted(parts[rank].begin(), parts[rank].end()));
      all.insert(all.end(), parts[rank].begin(), parts[rank].end());
    }
    std::sort(all.begin(), all.end());
    Counts wanted(lengths.size());
    std::iota(wanted.begin(), wanted.end(), int64_t{0});
    EXPECT_EQ(all, wanted);
  }
}

/// Sorted by length, as a batch of like lengths is: halves in order would differ most.
TEST(Deal, GivesEachRankItsPartOfTheUnits) {
  std::vector<int32_t> lengths(64);
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<int32_t>(128 - 2 * i);
  const int64_t all = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  for (const Counts& counts : {Counts{32, 32}, {48, 16}, {41, 23}, {16, 16, 16, 16}}) {
    const std::vector<Counts> parts = dealt(lengths, counts);
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      int64_t units = 0;
      for (const int64_t sample : parts[rank]) units += lengths[static_cast<size_t>(sample)];
      const double wanted = static_cast<double>(all * counts[rank]) / 64;
      EXPECT_NEAR(static_cast<double>(units), wanted, 0.03 * wanted);
    }
  }
}

TEST(ShareSchedule, ChangesFromTheBatchOnThatWasSaid) {
  ShareSchedule schedule(2);
  EXPECT_EQ(schedule.at(0), (std::vector<double>{1, 1}));
  schedule.change(4, {3, 1});
  schedule.change(9, {2, 1});
  EXPECT_EQ(schedule.at(3), (std::vector<double>{1, 1}));
  EXPECT_EQ(schedule.at(4), (std::vector<double>{3, 1}));
  EXPECT_EQ(schedule.at(8), (std::vector<double>{3, 1}));
  EXPECT_EQ(schedule.at(100), (std::vector<double>{2, 1}));
}

}  // namespace
}  // namespace hone::train
