#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nn/five_slots.h"

namespace hone::nn {
namespace {

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

}  // namespace
}  // namespace hone::nn
