#include "train/balancer.h"

#include <algorithm>
#include <numeric>

namespace hone::train {
namespace {

/// No rank gets less than this part of an even share: one without work could not be measured.
constexpr double kLeastShare = 1. / 16;

/// Gives the mean of the last `count` without some of the smallest and the largest.
double middle_of(const std::deque<double>& values, size_t count) {
  std::vector<double> sorted(values.end() - static_cast<ptrdiff_t>(count), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t left_out = std::max<size_t>(1, count / 6);
  const auto edge = static_cast<ptrdiff_t>(left_out);
  return std::accumulate(sorted.begin() + edge, sorted.end() - edge, 0.) /
         static_cast<double>(count - 2 * left_out);
}

/// Gives how long a step takes in which ranks of these speeds have these shares of one unit.
double step_time(const std::vector<double>& shares, const std::vector<double>& speeds) {
  double most = 0;
  for (size_t i = 0; i < shares.size(); ++i) most = std::max(most, shares[i] / speeds[i]);
  return most;
}

}  // namespace

Balancer::Balancer(size_t ranks, int64_t delay)
    : delay_(delay),
      wait_(1),  // a run's first step also touches its memory for the first time
      shares_(ranks, 1. / static_cast<double>(ranks)),
      history_(ranks) {}

bool Balancer::observe(std::span<const RankWork> step) {
  int64_t samples = 0;
  for (const RankWork& work : step) samples += work.samples;
  most_ = std::max(most_, samples);
  if (2 * samples < most_) return false;
  if (wait_ > 0) {
    --wait_;
    return false;
  }
  for (size_t rank = 0; rank < history_.size(); ++rank) {
    std::deque<double>& speeds = history_[rank];
    if (step[rank].seconds > 0 && step[rank].units > 0) {
      speeds.push_back(step[rank].units / step[rank].seconds);
    }
    if (speeds.size() > kMany) speeds.pop_front();
  }
  return improve(kFew, kLargeGain) || improve(kMany, kSmallGain);
}

bool Balancer::improve(size_t count, double gain) {
  std::vector<double> speeds;
  for (const std::deque<double>& values : history_) {
    if (values.size() < count) return false;
    speeds.push_back(middle_of(values, count));
  }
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.);
  const double least = kLeastShare / static_cast<double>(speeds.size());
  std::vector<double> better;
  for (const double speed : speeds) better.push_back(std::max(speed / all, least));
  const double sum = std::accumulate(better.begin(), better.end(), 0.);
  for (double& share : better) share /= sum;
  if (step_time(better, speeds) > (1 - gain) * step_time(shares_, speeds)) return false;
  shares_ = std::move(better);
  for (std::deque<double>& values : history_) values.clear();
  wait_ = delay_;
  return true;
}

}  // namespace hone::train
