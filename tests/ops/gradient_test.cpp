// Every op's backward pass, in double, over the table of cases.
#include "ops/gradient_check.h"

namespace hone::ops {
namespace {

class Gradients : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradients, AreThoseOfDifferences) { GradientCheck(GetParam()).run(); }

INSTANTIATE_TEST_SUITE_P(Ops, Gradients, testing::ValuesIn(gradient_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hone::ops
