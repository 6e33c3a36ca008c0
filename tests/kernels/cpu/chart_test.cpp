#include "kernels/cpu/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace hone::kernels {
namespace {

using Spans = std::set<std::pair<int64_t, int64_t>>;

/// Lists all trees over words [i, j) as sets of their constituents.
std::vector<Spans> trees_over(int64_t i, int64_t j) {
  if (j - i == 1) return {{}};
  // Sequences of children from i on: a first child, then a shorter sequence, with two or more in
  // all.
  const std::function<std::vector<Spans>(int64_t, int64_t)> sequences = [&](int64_t from,
                                                                            int64_t children) {
    std::vector<Spans> all;
    if (from == j) {
      if (children >= 2) all.emplace_back();
      return all;
    }
    for (int64_t end = from + 1; end <= j; ++end) {
      if (from == i && end == j) continue;
      for (const Spans& child : trees_over(from, end)) {
        for (const Spans& rest : sequences(end, children + 1)) {
          Spans both = child;
          both.insert(rest.begin(), rest.end());
          all.push_back(both);
        }
      }
    }
    return all;
  };
  std::vector<Spans> all = sequences(i, 0);
  for (Spans& each : all) each.insert({i, j});
  return all;
}

std::vector<double> random_scores(int64_t words, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 2);
  std::vector<double> scores(static_cast<size_t>(chart_cells(words)));
  for (double& score : scores) score = normal(random);
  return scores;
}

double score_of(const Spans& tree, const std::vector<double>& scores, int64_t words) {
  double sum = 0;
  for (const auto& [i, j] : tree) {
    if (j - i < words) sum += scores[static_cast<size_t>(chart_cell(words, i, j))];
  }
  return sum;
}

class ChartOf : public testing::TestWithParam<int64_t> {
 protected:
  std::vector<std::byte> memory_ = std::vector<std::byte>(chart_workspace());
};

TEST_P(ChartOf, HasACellForEachSpan) {
  const int64_t n = GetParam();
  int64_t next = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = i + 2; j <= n; ++j) EXPECT_EQ(chart_cell(n, i, j), next++);
  }
  EXPECT_EQ(chart_cells(n), next);
}

TEST_P(ChartOf, SumsOverAllTreesAndTheirMarginals) {
  const int64_t n = GetParam();
  const std::vector<double> scores = random_scores(n, 3);
  std::vector<double> expected(scores.size());
  double sum = 0;
  for (const Spans& tree : trees_over(0, n)) {
    const double weight = std::exp(score_of(tree, scores, n));
    sum += weight;
    for (const auto& [i, j] : tree) {
      expected[static_cast<size_t>(chart_cell(n, i, j))] += weight;
    }
  }
  std::vector<double> marginals(scores.size(), -1);
  EXPECT_NEAR(tree_partition(scores.data(), n, marginals.data(), memory_.data()), std::log(sum),
              1e-12 * static_cast<double>(n));
  for (size_t c = 0; c < scores.size(); ++c) EXPECT_NEAR(marginals[c], expected[c] / sum, 1e-12);
}

TEST_P(ChartOf, FindsTheBestTree) {
  const int64_t n = GetParam();
  for (const double threshold : {0., 0.7}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      std::vector<double> scores = random_scores(n, seed);
      std::vector<int32_t> spans(static_cast<size_t>(2 * n));
      const int64_t count = best_tree(scores.data(), n, threshold, spans.data(), memory_.data());
      Spans found;
      std::pair<int64_t, int64_t> last{0, n};
      for (int64_t s = 0; s < count; ++s) {
        const std::pair<int64_t, int64_t> span{spans[static_cast<size_t>(2 * s)],
                                               spans[static_cast<size_t>(2 * s + 1)]};
        EXPECT_TRUE(span.first > last.first ||
                    (span.first == last.first && span.second <= last.second));
        last = span;
        found.insert(span);
      }
      EXPECT_EQ(static_cast<int64_t>(found.size()), count);
      for (double& score : scores) score -= threshold;
      double best = -1e30;
      bool is_tree = false;
      for (const Spans& tree : trees_over(0, n)) {
        best = std::max(best, score_of(tree, scores, n));
        is_tree = is_tree || tree == found;
      }
      EXPECT_TRUE(is_tree);
      EXPECT_NEAR(score_of(found, scores, n), best, 1e-12);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Words, ChartOf, testing::Values(2, 3, 4, 5, 7));

TEST(Chart, OfNoSpansIsEmpty) {
  std::vector<std::byte> memory(chart_workspace());
  for (const int64_t words : {0, 1}) {
    EXPECT_EQ(tree_partition<float>(nullptr, words, nullptr, memory.data()), 0);
    EXPECT_EQ(best_tree<float>(nullptr, words, 0, nullptr, memory.data()), 0);
  }
}

TEST(Chart, TheMostWordsWithLargeScoresStayFinite) {
  const int64_t n = kMostChartWords;
  std::vector<float> scores(static_cast<size_t>(chart_cells(n)), 40.f);
  std::vector<float> marginals(scores.size());
  std::vector<std::byte> memory(chart_workspace());
  EXPECT_TRUE(std::isfinite(tree_partition(scores.data(), n, marginals.data(), memory.data())));
  double sum = 0;
  for (const float marginal : marginals) sum += marginal;
  EXPECT_NEAR(sum, static_cast<double>(n - 1), 1e-2) << "binary trees have the most constituents";
  std::vector<int32_t> spans(static_cast<size_t>(2 * n));
  EXPECT_EQ(best_tree(scores.data(), n, 0, spans.data(), memory.data()), n - 1);
}

}  // namespace
}  // namespace hone::kernels
