#include "kernels/cpu/phrases.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hone::ops {
namespace {

/// A mean is over the phrase's own rows: rows of neighbours and of other texts change nothing.
TEST(Phrases, MeansAreOverTheirOwnRows) {
  ThreadPool pool(2);
  const std::vector<float> u = {10, 20};
  std::vector<float> x = {9, 1, 2, 9, 5, -7, 9};
  const std::vector<int32_t> tokens = {0, 4, 7}, phrases = {0, 2, 3}, spans = {1, 3, 0, 0, 4, 6};
  const kernels::PhrasePlaces places{2, tokens.data(), phrases.data(), spans.data()};
  std::vector<float> y(3);
  kernels::phrase_rows(x.data(), u.data(), places, 1, y.data(), pool);
  EXPECT_EQ(y, (std::vector<float>{1.5f - 10, 0, -20}));
  x[0] = x[3] = x[6] = NAN;
  kernels::phrase_rows(x.data(), u.data(), places, 1, y.data(), pool);
  EXPECT_EQ(y, (std::vector<float>{1.5f - 10, 0, -20}));
  const std::vector<float> z = {4, 100, -6};
  std::vector<float> means(2);
  kernels::phrase_means(z.data(), places, 1, means.data(), pool);
  EXPECT_EQ(means, (std::vector<float>{4, -6}));
}

}  // namespace
}  // namespace hone::ops
