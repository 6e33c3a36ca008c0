#include "base/random.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Philox, GivesThePublishedVectors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, IsUniformAndNormalEnough) {
  double sum = 0;
  double normals = 0;
  double squares = 0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const auto words = philox(42, 0, static_cast<uint64_t>(i));
    const float u = uniform(words[0]);
    ASSERT_GE(u, 0.f);
    ASSERT_LT(u, 1.f);
    sum += u;
    const auto pair = normal_pair(words[1], words[2]);
    normals += pair[0] + pair[1];
    squares += pair[0] * pair[0] + pair[1] * pair[1];
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.005);
  EXPECT_NEAR(normals / (2 * kDraws), 0, 0.01);
  EXPECT_NEAR(squares / (2 * kDraws), 1, 0.02);
}

}  // namespace
}  // namespace hone
