#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cuda.h"
#include "nn/parameters.h"

namespace hone::train {

/// What a few steps of training came to.
struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<float> weights;
};

/// All weights as they are now, fetched from where they are.
inline std::vector<float> weights_of(nn::Parameters& parameters) {
  std::vector<float> all;
  parameters.refresh_host();
  for (const nn::Parameter& parameter : parameters.list()) {
    const auto* start = static_cast<const float*>(
        parameters.pointers()[static_cast<size_t>(parameter.weight.slot)]);
    all.insert(all.end(), start, start + parameters.elements(parameter.weight));
  }
  return all;
}

inline void expect_near(const Outcome& gpu, const Outcome& cpu, double tolerance) {
  ASSERT_EQ(gpu.losses.size(), cpu.losses.size());
  for (size_t i = 0; i < cpu.losses.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_NEAR(gpu.losses[i], cpu.losses[i], tolerance * std::max(1., std::abs(cpu.losses[i])));
    ASSERT_NEAR(gpu.norms[i], cpu.norms[i], 10 * tolerance * std::max(1., cpu.norms[i]));
  }
}

/// Skips, and says why, where there is no GPU.
template <typename Parameter>
class OnGpu : public testing::TestWithParam<Parameter> {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

}  // namespace hone::train
