// The balancer against ranks that are formulas: a step takes each its overhead and its samples'
// time, with noise by a counter.
#include "train/balancer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "train/shares.h"

namespace hone::train {
namespace {

constexpr int64_t kDelay = 3;  // steps that are loaded ahead

struct SimulatedRank {
  double speed = 1;  ///< samples a second
  double overhead = 0;
};

/// Steps of ranks under one balancer.
class Cluster {
 public:
  Cluster(std::vector<SimulatedRank> of, int64_t batch, double noise)
      : ranks(std::move(of)),
        batch_(batch),
        noise_(noise),
        balancer_(ranks.size(), kDelay),
        schedule_(ranks.size()) {}

  /// Gives how long the step took, which is how long its slowest rank did.
  double step() {
    counts = share_counts(batch_, schedule_.at(number_));
    std::vector<RankWork> work;
    double longest = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const auto words = philox(7, number_, i);
      const double error = 2 * (static_cast<double>(words[0]) / std::pow(2., 32)) - 1;
      const auto samples = static_cast<double>(counts[i]);
      const double seconds = (ranks[i].overhead + samples / ranks[i].speed) * (1 + noise_ * error);
      longest = std::max(longest, seconds);
      work.push_back({counts[i], samples, seconds});
    }
    ++number_;
    if (balancer_.observe(work)) {
      ++changes;
      schedule_.change(number_ + kDelay, balancer_.shares());
    }
    return longest;
  }

  double mean_of(int64_t steps) {
    double sum = 0;
    for (int64_t i = 0; i < steps; ++i) sum += step();
    return sum / static_cast<double>(steps);
  }

  /// Gives the time of a step whose work is cut by speed to any fraction.
  double perfect() const {
    double speeds = 0, work = static_cast<double>(batch_);
    for (const SimulatedRank& rank : ranks) {
      speeds += rank.speed;
      work += rank.overhead * rank.speed;
    }
    return work / speeds;
  }

  std::vector<SimulatedRank> ranks;
  std::vector<int64_t> counts;
  int changes = 0;

 private:
  int64_t batch_;
  double noise_;
  uint64_t number_ = 0;
  Balancer balancer_;
  ShareSchedule schedule_;
};

TEST(Balancer, ComesNearPerfectWithUnequalRanks) {
  const std::vector<std::vector<SimulatedRank>> clusters = {
      {{100, 0}, {178, 0}},
      {{100, 0}, {178, 0}, {178, 0}, {178, 0}},
      {{100, 0.02}, {178, 0.01}},  // the update takes each its time, too
      {{10, 0}, {100, 0}},
  };
  for (const auto& ranks : clusters) {
    for (const double noise : {0., 0.03}) {
      Cluster cluster(ranks, 256, noise);
      cluster.mean_of(20);
      EXPECT_LT(cluster.mean_of(100), (1.03 + noise) * cluster.perfect()) << noise;
      EXPECT_LE(cluster.changes, 4);
    }
  }
}

TEST(Balancer, LeavesEqualRanksAlone) {
  for (const size_t ranks : {2, 4, 8}) {
    Cluster cluster(std::vector<SimulatedRank>(ranks, {100, 0.01}), 256, 0.03);
    cluster.mean_of(500);
    EXPECT_EQ(cluster.changes, 0);
    EXPECT_EQ(cluster.counts, std::vector<int64_t>(ranks, 256 / static_cast<int64_t>(ranks)));
  }
}

TEST(Balancer, FollowsAChangeWithinTwentyStepsWithoutOscillation) {
  for (const double noise : {0., 0.03}) {
    Cluster cluster({{100, 0.01}, {100, 0.01}}, 256, noise);
    cluster.mean_of(50);
    for (const double speed : {178., 100., 56.}) {
      cluster.ranks[0].speed = speed;
      cluster.mean_of(20);
      cluster.changes = 0;
      EXPECT_LT(cluster.mean_of(60), (1.03 + noise) * cluster.perfect()) << speed;
      EXPECT_LE(cluster.changes, 2) << speed;
    }
  }
}

/// One step in which a rank was disturbed is no reason for another share.
TEST(Balancer, ForgivesADisturbedStep) {
  Cluster cluster({{100, 0}, {100, 0}}, 256, 0);
  cluster.mean_of(20);
  cluster.ranks[1].speed = 20;
  cluster.step();
  cluster.ranks[1].speed = 100;
  cluster.mean_of(30);
  EXPECT_EQ(cluster.changes, 0);
}

TEST(Balancer, KeepsEveryRankMeasurable) {
  Cluster cluster({{1, 0}, {1000, 0}}, 256, 0);
  cluster.mean_of(60);
  EXPECT_GT(cluster.counts[0], 0);
  cluster.ranks[0].speed = 1000;
  cluster.mean_of(60);
  EXPECT_NEAR(static_cast<double>(cluster.counts[0]), 128, 4);
}

}  // namespace
}  // namespace hone::train
