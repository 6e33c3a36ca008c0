#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/gemm_amx-inl.h"
#include "kernels/cpu/gemm_backward_pack.h"
#include "kernels/cpu/gemm_emulated_tiles.h"
#include "kernels/cpu/gemm_f64.h"

/// What the tests of the backward products share: every instruction set and dtype, and operands
/// whose exact values are known.
namespace hone::kernels {

struct BackwardConfig {
  Isa isa;
  DType dtype;
  const GemmKernel* kernel = nullptr;  ///< instead of the isa's own
};

inline std::vector<BackwardConfig> backward_configs() {
  std::vector<BackwardConfig> all;
  for (const Isa isa : available_isas()) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) all.push_back({isa, dtype});
  }
  // The panels of AMX are those of AVX-512, and so is what finishes its sums.
  if (cpu_info().avx512) all.push_back({Isa::amx, DType::bf16, &amx::kKernel<EmulatedTiles>});
  return all;
}

inline std::string backward_config_name(const testing::TestParamInfo<BackwardConfig>& info) {
  return std::string(info.param.kernel ? "emulated_" : "") + std::string(isa_name(info.param.isa)) +
         "_" + std::string(dtype_name(info.param.dtype));
}

/// Values stored as `dtype`, and what they are exactly.
class Values {
 public:
  Values(DType dtype, int64_t count) : dtype_(dtype), bytes_(count * dtype_size(dtype)) {}
  Values(DType dtype, int64_t count, uint32_t seed) : Values(dtype, count) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < count; ++i) set(i, uniform(generator));
  }
  static Values filled(DType dtype, int64_t count, double value) {
    Values values(dtype, count);
    for (int64_t i = 0; i < count; ++i) values.set(i, value);
    return values;
  }

  void set(int64_t i, double value) {
    if (dtype_ == DType::f64) bytes_.as<double>()[i] = value;
    if (dtype_ == DType::f32) bytes_.as<float>()[i] = static_cast<float>(value);
    if (dtype_ == DType::bf16) bytes_.as<bf16>()[i] = to_bf16(static_cast<float>(value));
  }
  double operator[](int64_t i) const {
    if (dtype_ == DType::f64) return bytes_.as<double>()[i];
    if (dtype_ == DType::f32) return bytes_.as<float>()[i];
    return to_float(bytes_.as<bf16>()[i]);
  }
  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  const std::byte* at(int64_t i) const { return bytes_.as<std::byte>() + i * dtype_size(dtype_); }
  size_t size() const { return bytes_.size(); }
  DType dtype() const { return dtype_; }

 private:
  DType dtype_;
  Buffer bytes_;
};

/// Where element (row, column) of a packed fp32 or f64 matrix lies.
inline int64_t packed_index(Isa isa, int64_t k, int64_t row, int64_t column) {
  const int64_t width = panel_rows(isa);
  return row / width * width * k + column * width + row % width;
}

/// A weight with values of `dtype`, packed.
struct Weight {
  Values exact;
  Buffer memory;
  PackedMatrix matrix;

  Weight(Isa isa, DType dtype, int64_t n, int64_t k, uint32_t seed)
      : exact(dtype, n * k, seed),
        memory(packed_bytes(isa, dtype, n, k)),
        matrix{dtype, isa, n, k, memory.data()} {
    if (dtype == DType::f64) {
      const auto* rows = static_cast<const double*>(exact.data());
      pack_rows_f64(isa, rows, 0, n, n, k, memory.as<double>());
      return;
    }
    std::vector<float> rows(n * k);
    for (int64_t i = 0; i < n * k; ++i) rows[i] = static_cast<float>(exact[i]);
    pack_rows(isa, dtype, rows.data(), 0, n, n, k, memory.data());
  }
};

/// The tolerance of a sum whose terms have this total size.
inline double sum_tolerance(DType dtype, double size) {
  return (dtype == DType::f64 ? 1e-14 : 2e-6) * size;
}

}  // namespace hone::kernels
