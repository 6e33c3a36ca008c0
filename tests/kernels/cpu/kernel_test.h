#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "tensor/dtype.h"

namespace hone::kernels {

inline float to_float(float value) { return value; }
inline double to_float(double value) { return value; }
using hone::to_float;

template <typename T>
T from_float(float value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else {
    return value;
  }
}

/// Normal values, already rounded to T, so that a reference in double reads what the kernel reads.
template <typename T>
std::vector<T> random_values(int64_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<T> values(count);
  for (T& value : values) value = from_float<T>(normal(engine));
  return values;
}

/// Runs `body` once for each instruction set that this machine has.
template <typename Body>
void for_each_isa(const Body& body) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(std::string(isa_name(isa)));
    const ScopedIsa scope(isa);
    body();
  }
}

/// How far a result stored as T may be from one computed in double, by absolute error `fp32` of
/// the arithmetic and the rounding of the store.
template <typename T>
double tolerance(double expected, double fp32) {
  return fp32 + (std::is_same_v<T, bf16> ? std::abs(expected) / 256 : 0.0);
}

template <typename T>
void expect_close(const std::vector<T>& actual, const std::vector<double>& expected, double fp32) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(to_float(actual[i]), expected[i], tolerance<T>(expected[i], fp32)) << "at " << i;
  }
}

template <typename T>
bool same_bits(const T* a, const T* b, int64_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(T)) == 0;
}

using StorageTypes = testing::Types<float, bf16>;

}  // namespace hone::kernels
