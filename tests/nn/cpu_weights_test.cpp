#include "nn/cpu_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/gemm.h"
#include "nn/five_slots.h"

namespace hone::nn {
namespace {

/// Row `row` of a matrix as a plan in `dtype` reads it.
std::vector<float> shadow_row(const Parameters& parameters, const WeightArrays& arrays,
                              const Weight& weight, int64_t row) {
  std::vector<float> out(static_cast<size_t>(weight.width));
  kernels::unpack_row({DType::bf16, parameters.isa(), weight.rows, weight.width,
                       arrays.shadows[static_cast<size_t>(weight.slot)]},
                      row, out.data());
  return out;
}

void expect_rounded(const std::vector<float>& got, int64_t row, float scale) {
  for (size_t i = 0; i < got.size(); ++i) {
    const auto at = static_cast<float>(static_cast<size_t>(row) * got.size() + i);
    EXPECT_EQ(got[i], to_float(to_bf16(scale * std::sin(at)))) << i;
  }
}

TEST(Shadows, AreRoundedCopiesThatFollowTheirWeights) {
  Parameters parameters = five_slots(chosen_isa());
  parameters.allocate();
  for (const Parameter& parameter : parameters.list()) fill_with_sines(parameters, parameter, 1);
  ThreadPool pool(2);
  const std::vector<bool> slots = {true, false, false, false, true};
  const WeightArrays arrays = parameters.arrays_for(DType::bf16, slots, true);
  parameters.refresh(pool);
  const Weight first = parameters.list()[0].weight, last = parameters.list()[4].weight;
  expect_rounded(shadow_row(parameters, arrays, first, 4), 4, 1);
  expect_rounded(shadow_row(parameters, arrays, last, 1), 1, 1);
  EXPECT_EQ(arrays.stored[0], parameters.pointers()[0]);
  EXPECT_EQ(arrays.shadows[2], parameters.pointers()[2]) << "a slot without a shadow is itself";

  fill_with_sines(parameters, parameters.list()[0], 2);
  fill_with_sines(parameters, parameters.list()[4], 2);
  expect_rounded(shadow_row(parameters, arrays, first, 4), 4, 1);  // refresh() changes it
  const std::vector<bool> changed = {true, true, true, true, false};
  parameters.refresh(pool, &changed);
  expect_rounded(shadow_row(parameters, arrays, first, 4), 4, 2);
  expect_rounded(shadow_row(parameters, arrays, last, 1), 1, 1);  // said to be as it was
}

TEST(Shadows, AreNoneInFp32) {
  Parameters parameters = five_slots(chosen_isa());
  parameters.allocate();
  const WeightArrays arrays = parameters.arrays_for(DType::f32, std::vector<bool>(5), true);
  EXPECT_TRUE(arrays.shadows.empty());
  EXPECT_EQ(arrays.stored[4], parameters.pointers()[4]);
}

}  // namespace
}  // namespace hone::nn
