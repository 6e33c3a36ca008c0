#include "nn/span_scorer.h"

#include <gtest/gtest.h>

namespace hone::nn {
namespace {

/// The shape of each layer's weight, for tokens' rows of `hidden`.
std::vector<std::pair<int64_t, int64_t>> shapes_for(int64_t hidden) {
  Parameters parameters(chosen_isa());
  const SpanScorer scorer(parameters, "scorer", hidden, DType::f32);
  std::vector<std::pair<int64_t, int64_t>> shapes;
  for (const Parameter& parameter : parameters.list()) {
    if (parameter.is_vector()) continue;
    EXPECT_EQ(parameter.tensors.at(0),
              shapes.empty() ? "scorer.dense.weight" : "scorer.out.weight");
    shapes.emplace_back(parameter.weight.rows, parameter.weight.width);
  }
  return shapes;
}

TEST(SpanScorer, HasHalfAsManyUnitsAsATokenAndOneAtLeast) {
  using Shapes = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(shapes_for(10), (Shapes{{20, 10}, {1, 5}})) << "four shares of a token in spans";
  EXPECT_EQ(shapes_for(1), (Shapes{{4, 1}, {1, 1}}));
}

}  // namespace
}  // namespace hone::nn
