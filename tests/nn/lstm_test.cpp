#include "nn/lstm.h"

#include <gtest/gtest.h>

namespace hone::nn {
namespace {

TEST(Lstm, HasTheParametersOfTorch) {
  Parameters parameters(chosen_isa());
  const Lstm lstm(parameters, "lstm", {.input = 5, .hidden = 3, .layers = 2});
  std::vector<std::string> shapes;
  for (const Parameter& parameter : parameters.list()) {
    shapes.push_back(parameter.tensors.at(0) + " " + std::to_string(parameter.weight.rows) + " " +
                     std::to_string(parameter.weight.width));
  }
  EXPECT_EQ(shapes, (std::vector<std::string>{"lstm.weight_ih_l0 12 5", "lstm.bias_ih_l0 1 12",
                                              "lstm.weight_hh_l0 12 3", "lstm.bias_hh_l0 1 12",
                                              "lstm.weight_ih_l1 12 3", "lstm.bias_ih_l1 1 12",
                                              "lstm.weight_hh_l1 12 3", "lstm.bias_hh_l1 1 12"}));
}

TEST(Lstm, GivesRowsOfHiddenUnitsByLayer) {
  Parameters parameters(chosen_isa());
  const Lstm lstm(parameters, "lstm", {.input = 5, .hidden = 3, .layers = 2});
  Plan plan;
  Tape tape(plan);
  Packing packing;
  packing.offsets = plan.input(DType::i32, kSequences, 1);
  const Value y = lstm(tape, plan.input(DType::f32, kTokens, 5), packing, 0);
  EXPECT_EQ(y.rows, kTokens);
  EXPECT_EQ(y.width, 3);
  EXPECT_EQ(plan.steps().front().scope, "layer 0");
  EXPECT_EQ(plan.steps().back().scope, "layer 1");
}

}  // namespace
}  // namespace hone::nn
