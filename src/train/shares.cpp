#include "train/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone::train {

std::vector<int64_t> share_counts(int64_t samples, std::span<const double> shares) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.);
  std::vector<int64_t> counts;
  double sum = 0;
  int64_t before = 0;
  for (const double share : shares) {
    sum += share;
    const bool last = counts.size() + 1 == shares.size();
    const int64_t until = last ? samples : std::llround(static_cast<double>(samples) * (sum / all));
    counts.push_back(until - before);
    before = until;
  }
  return counts;
}

void deal(std::span<const int32_t> lengths, std::span<const int64_t> counts, size_t rank,
          std::vector<int64_t>& samples) {
  std::vector<size_t> order(samples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto length = [&](size_t at) { return lengths[static_cast<size_t>(samples[at])]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return length(a) > length(b); });
  std::vector<int64_t> room(counts.begin(), counts.end());
  std::vector<double> load(counts.size());
  std::vector<bool> own(samples.size());
  for (const size_t at : order) {
    const auto after = [&](size_t to) {
      return (load[to] + length(at)) / static_cast<double>(counts[to]);
    };
    size_t least = counts.size();
    for (size_t to = 0; to < counts.size(); ++to) {
      if (room[to] > 0 && (least == counts.size() || after(to) < after(least))) least = to;
    }
    --room[least];
    load[least] += length(at);
    own[at] = least == rank;
  }
  size_t kept = 0;
  for (size_t at = 0; at < samples.size(); ++at) {
    if (own[at]) samples[kept++] = samples[at];
  }
  samples.resize(kept);
}

void ShareSchedule::change(uint64_t from, std::vector<double> shares) {
  const std::lock_guard lock(mutex_);
  changes_.push_back({from, std::move(shares)});
}

std::vector<double> ShareSchedule::at(uint64_t batch) {
  const std::lock_guard lock(mutex_);
  while (changes_.size() > 1 && changes_[1].from <= batch) changes_.pop_front();
  return changes_.front().shares;
}

}  // namespace hone::train
