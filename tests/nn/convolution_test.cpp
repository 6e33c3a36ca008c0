#include "nn/convolution.h"

#include <gtest/gtest.h>

namespace hone::nn {
namespace {

constexpr Axis kBatchImages{1}, kBatchPixels{2};
constexpr ImageSize kPicture{5, 7};

/// Tensors by slot, with the width of each.
std::vector<std::pair<std::string, int64_t>> tensors_of(const Parameters& parameters) {
  std::vector<std::pair<std::string, int64_t>> all;
  for (const Parameter& parameter : parameters.list()) {
    all.emplace_back(parameter.tensors.at(0), parameter.weight.width);
  }
  return all;
}

Images answer_of(const ConvolutionNorm& layer, ImageAxes& axes, Plan& plan) {
  Tape tape(plan);
  return layer(tape, {plan.input(DType::f32, kBatchPixels, 3), kPicture}, axes, {.relu = true});
}

TEST(ConvolutionNorm, HasTwoModulesAndTheNormsState) {
  Parameters parameters(chosen_isa());
  const ConvolutionNorm layer(parameters, "conv1", "bn1", {3, 4, 3, 2}, DType::f32, false);
  EXPECT_EQ(tensors_of(parameters),
            (std::vector<std::pair<std::string, int64_t>>{{"conv1.weight", 27},
                                                          {"bn1.bias", 4},
                                                          {"bn1.weight", 4},
                                                          {"bn1.running_mean", 4},
                                                          {"bn1.running_var", 4}}));
  EXPECT_EQ(parameters.list()[3].initial, 0);
  EXPECT_EQ(parameters.list()[4].initial, 1);
  EXPECT_TRUE(layer.is_weight(parameters.list()[0].weight));
  EXPECT_FALSE(layer.is_weight(parameters.list()[1].weight));
}

TEST(ConvolutionNorm, TakesTheNormInWhereItFolds) {
  Parameters parameters(chosen_isa());
  const ConvolutionNorm layer(parameters, "conv1", "bn1", {3, 4, 3, 2}, DType::f32, true);
  EXPECT_EQ(tensors_of(parameters),
            (std::vector<std::pair<std::string, int64_t>>{{"conv1.weight", 27}, {"bn1.bias", 4}}));
  for (const Parameter& parameter : parameters.list()) EXPECT_EQ(parameter.norm, "bn1");
  Plan plan;
  ImageAxes axes(kBatchImages, kBatchPixels, kPicture);
  answer_of(layer, axes, plan);
  EXPECT_EQ(plan.steps().size(), 1u) << "no norm runs";
}

TEST(ConvolutionNorm, KeepsTheSizeUnlessItHasAStride) {
  Parameters parameters(chosen_isa());
  const ConvolutionNorm same(parameters, "a", "an", {3, 4, 3, 1}, DType::f32, false);
  const ConvolutionNorm half(parameters, "b", "bn", {3, 4, 3, 2}, DType::f32, false);
  Plan plan;
  ImageAxes axes(kBatchImages, kBatchPixels, kPicture);
  const Images kept = answer_of(same, axes, plan);
  EXPECT_EQ(kept.size, kPicture);
  EXPECT_EQ(kept.value.rows, kBatchPixels);
  EXPECT_EQ(kept.value.width, 4);
  const Images halved = answer_of(half, axes, plan);
  EXPECT_EQ(halved.size, (ImageSize{3, 4}));
  EXPECT_EQ(halved.value.rows, axes.of({3, 4}));
}

}  // namespace
}  // namespace hone::nn
