#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/cpu_info.h"
#include "device/memory.h"
#include "ops/op_axes.h"
#include "plan/runner.h"

/// One table of cases serves every op: device, dtype, shape and tolerance, run on each instruction
/// set that the machine has. An op's value test compares with a reference in double; its gradient
/// test will take the same cases.
namespace hone::ops {

struct OpCase {
  int64_t rows;
  int64_t width;
  DType dtype;
  /// Relative to the largest magnitude of the reference.
  double tolerance() const { return dtype == DType::f32 ? 2e-6 : 1e-2; }
};

inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const int64_t rows : {0, 1, 15, 16, 17, 130}) {
      for (const int64_t width : {1, 31, 32, 33, 384, 767}) cases.push_back({rows, width, dtype});
    }
    cases.push_back({2048, 64, dtype});
  }
  return cases;
}

inline std::string case_name(const testing::TestParamInfo<OpCase>& test) {
  return std::to_string(test.param.rows) + "x" + std::to_string(test.param.width) + "_" +
         std::string(dtype_name(test.param.dtype));
}

/// Deterministic values around zero, already rounded to `dtype`.
inline std::vector<float> values(int64_t count, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.f, 1.f);
  std::vector<float> out(static_cast<size_t>(count));
  for (float& value : out) {
    value = normal(random);
    if (dtype == DType::bf16) value = to_float(to_bf16(value));
  }
  return out;
}

/// An array in `dtype` that a plan can read.
inline Buffer stored(std::span<const float> from, DType dtype) {
  Buffer buffer(std::max<size_t>(1, from.size() * dtype_size(dtype)));
  for (size_t i = 0; i < from.size(); ++i) {
    if (dtype == DType::f32) {
      buffer.as<float>()[i] = from[i];
    } else {
      buffer.as<bf16>()[i] = to_bf16(from[i]);
    }
  }
  return buffer;
}

inline std::vector<float> loaded(const void* data, DType dtype, int64_t count) {
  std::vector<float> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = dtype == DType::f32 ? static_cast<const float*>(data)[i]
                                 : to_float(static_cast<const bf16*>(data)[i]);
  }
  return out;
}

inline void expect_close(const std::vector<float>& got, const std::vector<double>& wanted,
                         double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  double scale = 1e-30;
  for (const double value : wanted) scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], wanted[i], tolerance * scale) << what << " at " << i;
  }
}

/// Runs `body` once on each instruction set of this machine, which it may name in messages.
inline void on_every_isa(const std::function<void(Isa isa, const std::string& name)>& body) {
  for (const Isa isa : available_isas()) {
    const ScopedIsa scoped(isa);
    body(isa, std::string(isa_name(isa)));
  }
}

}  // namespace hone::ops
