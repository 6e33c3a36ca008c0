#pragma once

#include <gtest/gtest.h>

#include "plan/runner.h"

/// What the tests of plans record.
namespace hone {

inline constexpr Axis kRows{1};

inline Extents extents_of(int64_t rows) {
  Extents extents;
  extents[kRows] = rows;
  return extents;
}

/// y = x + amount, in a plan.
inline Value add(Plan& plan, Value x, float amount) {
  const Value y = plan.temporary(DType::f32, x.rows, x.width);
  Step step{"add", {x}, {y}, [=](const Frame& frame) {
              const int64_t count = frame.rows(x) * x.width;
              auto* scratch = static_cast<float*>(frame.workspace());
              for (int64_t i = 0; i < count; ++i) scratch[i] = frame.data<const float>(x)[i];
              for (int64_t i = 0; i < count; ++i) frame.data<float>(y)[i] = scratch[i] + amount;
            }};
  step.workspace = [=](const Extents& e, int) {
    return static_cast<size_t>(e[x.rows] * x.width) * sizeof(float);
  };
  step.flops = [=](const Extents& e) { return static_cast<double>(e[x.rows] * x.width); };
  plan.add(std::move(step));
  return y;
}

}  // namespace hone
