#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cpu/gemm.h"
#include "nn/packed_rows.h"

namespace hone::nn {
namespace {

/// Slots 0 to 4: matrix, vector, table, vector, matrix.
Parameters five_slots(const Target& target) {
  Parameters parameters(target);
  parameters.matrix({"a.weight", "b.weight"}, 6, 5, DType::f32);
  parameters.vector({"a.bias", "b.bias"}, 6);
  parameters.table("words", 7, 3, DType::f32);
  parameters.vector({"norm.weight"}, 1);
  parameters.matrix({"c.weight"}, 2, 40, DType::f32);
  return parameters;
}

void fill(Parameters& parameters, const Parameter& parameter, float scale) {
  const int64_t width = row_width(parameter);
  store_rows(parameters, parameter, [&](int64_t first, int64_t count, float* out) {
    for (int64_t i = 0; i < count * width; ++i) {
      out[i] = scale * std::sin(static_cast<float>(first * width + i));
    }
  });
}

TEST(Parameters, LieApartInTheOrderOfTheirSlots) {
  Parameters parameters = five_slots(chosen_isa());
  parameters.allocate();
  const auto* before = static_cast<const std::byte*>(parameters.arena_data());
  size_t end = 0;
  for (const Parameter& parameter : parameters.list()) {
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const size_t at = parameters.layout()[slot];
    EXPECT_EQ(at % kAlignment, 0u) << slot;
    EXPECT_GE(at, end) << slot;
    EXPECT_EQ(parameters.pointers()[slot], before + at) << slot;
    EXPECT_EQ(static_cast<size_t>(parameters.offset(parameter.weight)) * sizeof(float), at);
    end = at + parameters.bytes_of(parameter);
  }
  EXPECT_LE(end, parameters.bytes());
  parameters.allocate();
  EXPECT_EQ(parameters.arena_data(), before) << "who holds pointers keeps them";
}

TEST(Parameters, OfAGpuHaveTheirVectorsBehindTheRest) {
  const Parameters parameters = five_slots(Target::cuda());
  const std::vector<size_t> at = parameters.layout();
  const size_t rest = std::max({at[0], at[2], at[4]});
  EXPECT_GT(at[1], rest);
  EXPECT_GT(at[3], at[1]);
  EXPECT_EQ(parameters.elements(parameters.list()[0].weight), 30) << "nothing is packed there";
}

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
  for (const Parameter& parameter : parameters.list()) fill(parameters, parameter, 1);
  ThreadPool pool(2);
  const std::vector<bool> slots = {true, false, false, false, true};
  const WeightArrays arrays = parameters.arrays_for(DType::bf16, slots, true);
  parameters.refresh(pool);
  const Weight first = parameters.list()[0].weight, last = parameters.list()[4].weight;
  expect_rounded(shadow_row(parameters, arrays, first, 4), 4, 1);
  expect_rounded(shadow_row(parameters, arrays, last, 1), 1, 1);
  EXPECT_EQ(arrays.stored[0], parameters.pointers()[0]);
  EXPECT_EQ(arrays.shadows[2], parameters.pointers()[2]) << "a slot without a shadow is itself";

  fill(parameters, parameters.list()[0], 2);
  fill(parameters, parameters.list()[4], 2);
  expect_rounded(shadow_row(parameters, arrays, first, 4), 4, 1);  // until refresh()
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
