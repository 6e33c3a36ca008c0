#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

namespace hone::train {

/// Gives how many of `samples` go to each rank: the differences of the rounded cumulative shares.
/// Shares are positive and need not add up to 1; the counts add up to `samples`.
std::vector<int64_t> share_counts(int64_t samples, std::span<const double> shares);

/// Leaves in `samples` those of one rank. Ranks get as many as `counts` says, chosen so that each
/// has its part of the units: the longest samples are dealt first, each to the rank that has the
/// least for its count. Every sample goes to exactly one rank; a rank's keep their order. `lengths`
/// is by sample of the data.
void deal(std::span<const int32_t> lengths, std::span<const int64_t> counts, size_t rank,
          std::vector<int64_t>& samples);

/// The shares of all ranks by batch. They change from a batch on that no rank has begun to load, so
/// that all ranks cut every batch alike. Any thread may call it.
class ShareSchedule {
 public:
  explicit ShareSchedule(size_t ranks) : changes_{{0, std::vector<double>(ranks, 1)}} {}

  /// Has `shares` hold from the batch with this number on, which is above that of the last change.
  void change(uint64_t from, std::vector<double> shares);
  /// Gives the shares of a batch; calls come with rising numbers.
  std::vector<double> at(uint64_t batch);

 private:
  struct Change {
    uint64_t from;
    std::vector<double> shares;
  };
  std::mutex mutex_;
  std::deque<Change> changes_;  ///< by rising number; the first one holds now
};

}  // namespace hone::train
