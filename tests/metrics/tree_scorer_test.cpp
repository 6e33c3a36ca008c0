#include "metrics/tree_scorer.h"

#include <gtest/gtest.h>

#include <map>

namespace hone::metrics {
namespace {

std::map<std::string, double> tree_results(const TreeScorer& scorer) {
  const auto results = scorer.results();
  return {results.begin(), results.end()};
}

TEST(TreeScorer, CountsConstituentsOfAllTextsTogether) {
  TreeScorer scorer;
  scorer.add({{2, 4}, {0, 2}}, {{0, 2}, {3, 5}, {2, 5}}, 2);
  scorer.add({{1, 3}}, {{1, 3}}, 1);
  scorer.add({}, {}, 0);
  auto results = tree_results(scorer);
  EXPECT_DOUBLE_EQ(results["precision"], 2. / 3);
  EXPECT_DOUBLE_EQ(results["recall"], 2. / 4);
  EXPECT_DOUBLE_EQ(results["f1"], 4. / 7);
  EXPECT_DOUBLE_EQ(results["exact"], 2. / 3);
  EXPECT_DOUBLE_EQ(scorer.loss(), 1);
}

TEST(TreeScorer, OfNothingIsZero) {
  TreeScorer scorer;
  scorer.add({}, {}, 0);
  auto results = tree_results(scorer);
  EXPECT_EQ(results["precision"], 0);
  EXPECT_EQ(results["f1"], 0);
  EXPECT_EQ(results["exact"], 1);
}

TEST(TreeScorer, MergedPartsAreTheWhole) {
  TreeScorer whole, first, second;
  whole.add({{0, 2}}, {{1, 3}}, 0.1);
  whole.add({{0, 3}}, {{0, 3}, {1, 3}}, 0.7);
  first.add({{0, 2}}, {{1, 3}}, 0.1);
  second.add({{0, 3}}, {{0, 3}, {1, 3}}, 0.7);
  first.merge(second.values());
  EXPECT_EQ(first.values(), whole.values());
  EXPECT_EQ(first.results(), whole.results());
}

}  // namespace
}  // namespace hone::metrics
