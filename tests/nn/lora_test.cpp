#include "nn/lora.h"

#include <gtest/gtest.h>

#include <set>

namespace hone::nn {
namespace {

TEST(Lora, SitesAreApartFromThoseOfLayersAndFromOneAnother) {
  std::set<uint64_t> sites;
  for (uint64_t depth = 0; depth < 100; ++depth) {
    for (uint64_t place = 0; place < 8; ++place) {
      EXPECT_TRUE(sites.insert(lora_site(depth, place)).second) << depth << " " << place;
    }
  }
  EXPECT_GE(*sites.begin(), uint64_t{1} << 32) << "layers count from 0";
}

TEST(Lora, TensorsAreKnownByTheirEnds) {
  EXPECT_TRUE(is_lora("encoder.layer.0.query.lora_A.weight"));
  EXPECT_TRUE(is_lora("query.lora_B.weight"));
  EXPECT_FALSE(is_lora("query.weight"));
  EXPECT_FALSE(is_lora("lora_A.weight.bias"));
}

TEST(Lora, ScaleIsAlphaOverTheRank) {
  EXPECT_EQ((LoraOptions{.rank = 4, .alpha = 6}).scale(), 1.5f);
}

}  // namespace
}  // namespace hone::nn
