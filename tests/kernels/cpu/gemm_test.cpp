#include "kernels/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/gemm_amx-inl.h"
#include "kernels/cpu/gemm_emulated_tiles.h"

namespace hone::kernels {
namespace {

struct Config {
  Isa isa;
  DType dtype;
  const GemmKernel* kernel = nullptr;  // instead of the isa's own
};

std::vector<Config> configs() {
  std::vector<Config> all;
  for (Isa isa : available_isas()) {
    for (DType dtype : {DType::f32, DType::bf16}) all.push_back({isa, dtype});
  }
  // Emulated tiles have AVX-512's panels, and AVX-512 finishes their sums.
  if (cpu_info().avx512) all.push_back({Isa::amx, DType::bf16, &amx::kKernel<EmulatedTiles>});
  return all;
}

std::string config_name(const testing::TestParamInfo<Config>& info) {
  return std::string(info.param.kernel ? "emulated_" : "") + std::string(isa_name(info.param.isa)) +
         "_" + std::string(dtype_name(info.param.dtype));
}

std::vector<float> random_values(size_t count, uint32_t seed, float scale = 1.0f) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

/// Values of either dtype, and what they are exactly.
struct Values {
  DType dtype;
  std::vector<float> exact;
  std::vector<bf16> narrow;

  Values(DType type, std::vector<float> from) : dtype(type), exact(std::move(from)) {
    if (dtype == DType::f32) return;
    for (float& value : exact) {
      narrow.push_back(to_bf16(value));
      value = to_float(narrow.back());
    }
  }
  void* data() { return dtype == DType::f32 ? static_cast<void*>(exact.data()) : narrow.data(); }
  float operator[](size_t i) const { return dtype == DType::f32 ? exact[i] : to_float(narrow[i]); }
};

/// Scratch that starts as NaN, so that reading what was never written shows.
Buffer scratch(size_t bytes) {
  Buffer buffer(bytes);
  if (bytes > 0) std::memset(buffer.data(), 0xff, bytes);
  return buffer;
}

struct Packed {
  Buffer memory;
  PackedMatrix matrix;

  Packed(Config config, const std::vector<float>& weight, int64_t n, int64_t k)
      : memory(scratch(packed_bytes(config.isa, config.dtype, n, k))),
        matrix{config.dtype, config.isa, n, k, memory.data()} {
    pack_rows(config.isa, config.dtype, weight.data(), 0, n, n, k, memory.data());
  }
};

void run(Config config, const GemmArgs& args, ThreadPool& pool) {
  if (config.kernel) {
    Buffer workspace = scratch(gemm_workspace_with(*config.kernel, args, pool.size()));
    gemm_with(*config.kernel, args, workspace.data(), pool);
  } else {
    Buffer workspace = scratch(gemm_workspace(args, pool.size()));
    gemm(args, workspace.data(), pool);
  }
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  return NAN;
}

struct Epilogue {
  bool bias = false;
  Activation activation = Activation::none;
  bool residual = false;
  DType residual_dtype = DType::f32;
  DType c_dtype = DType::f32;
};

/// One product against the same in double; rows are further apart than they are long, and the gaps
/// must stay untouched.
void check(Config config, int64_t m, int64_t n, int64_t k, const Epilogue& e, ThreadPool& pool,
           int64_t gap = 3) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " activation "
                                  << static_cast<int>(e.activation) << " threads " << pool.size());
  const int64_t lda = k + gap;
  const int64_t ldr = n + 5;
  const int64_t ldc = n + 1;
  Values a(config.dtype, random_values(m * lda, 1));
  const Values weight(config.dtype, random_values(n * k, 2));
  const std::vector<float> bias = random_values(n, 3);
  Values residual(e.residual_dtype, random_values(m * ldr, 4));
  constexpr float kUntouched = -77.0f;
  Values c(e.c_dtype, std::vector<float>(m * ldc, kUntouched));
  const Packed packed(config, weight.exact, n, k);

  GemmArgs args;
  args.m = m;
  args.a = a.data();
  args.a_dtype = config.dtype;
  args.lda = lda;
  args.b = &packed.matrix;
  args.bias = e.bias ? bias.data() : nullptr;
  args.activation = e.activation;
  args.residual = e.residual ? residual.data() : nullptr;
  args.residual_dtype = e.residual_dtype;
  args.ldr = ldr;
  args.c = c.data();
  args.c_dtype = e.c_dtype;
  args.ldc = ldc;
  run(config, args, pool);

  for (int64_t i = 0; i < m; ++i) {
    ASSERT_EQ(c[i * ldc + n], kUntouched) << "row " << i;
    for (int64_t j = 0; j < n; ++j) {
      double sum = e.bias ? bias[j] : 0;
      double size = 1;
      for (int64_t p = 0; p < k; ++p) {
        const double product = double{a.exact[i * lda + p]} * weight.exact[j * k + p];
        sum += product;
        size += std::abs(product);
      }
      double expected = activate(e.activation, sum);
      if (e.residual) expected += residual[i * ldr + j];
      const double rounding = e.c_dtype == DType::bf16 ? 0x1p-8 * std::abs(expected) : 0;
      ASSERT_NEAR(c[i * ldc + j], expected, 2e-6 * size + rounding) << "at " << i << ", " << j;
    }
  }
}

class Gemm : public testing::TestWithParam<Config> {};
INSTANTIATE_TEST_SUITE_P(Isas, Gemm, testing::ValuesIn(configs()), config_name);

TEST_P(Gemm, ValuesOverRowsAndColumns) {
  ThreadPool pool(1);
  for (int64_t m : {0, 1, 2, 5, 6, 7, 13, 14, 15, 16, 17, 29, 31, 32, 33, 113}) {
    for (int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 65}) check(GetParam(), m, n, 37, {}, pool);
  }
}

TEST_P(Gemm, ValuesOverDepths) {
  ThreadPool pool(2);
  for (int64_t k : {0, 1, 2, 3, 15, 31, 32, 33, 64, 383, 384, 767, 768, 769, 1537, 3072, 4099}) {
    for (int64_t m : {1, 15, 33}) check(GetParam(), m, 33, k, {}, pool);
  }
}

TEST_P(Gemm, RowsAtAnyDistance) {
  ThreadPool pool(1);
  for (int64_t gap : {0, 1, 2, 64, 1024, 2048 - 96}) {
    for (int64_t m : {1, 16, 35}) check(GetParam(), m, 33, 96, {}, pool, gap);
  }
  for (int64_t m : {1, 32, 129}) check(GetParam(), m, 33, 2048, {}, pool, 0);
}

TEST_P(Gemm, EveryEpilogue) {
  ThreadPool pool(1);
  for (Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh,
                                Activation::relu, Activation::silu, Activation::tanh}) {
    for (DType residual : {DType::f32, DType::bf16}) {
      for (DType c : {DType::f32, DType::bf16}) {
        check(GetParam(), 17, 45, 40, {true, activation, true, residual, c}, pool);
        check(GetParam(), 3, 45, 40, {true, activation, false, residual, c}, pool);
        check(GetParam(), 3, 45, 40, {false, activation, true, residual, c}, pool);
      }
    }
  }
}

TEST_P(Gemm, AnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (int64_t m : {1, 7, 120, 300}) check(GetParam(), m, 100, 50, {true}, pool);
    check(GetParam(), 120, 100, 1600, {true}, pool);
  }
}

TEST_P(Gemm, ResidualMayBeTheOutput) {
  ThreadPool pool(2);
  constexpr int64_t m = 20, n = 70, k = 50;
  Values a(GetParam().dtype, random_values(m * k, 1));
  const Packed packed(GetParam(), random_values(n * k, 2), n, k);
  std::vector<float> residual = random_values(m * n, 3);
  std::vector<float> expected(m * n);
  GemmArgs args{.m = m, .a = a.data(), .a_dtype = GetParam().dtype, .lda = k, .b = &packed.matrix};
  args.residual = residual.data();
  args.ldr = n;
  args.c = expected.data();
  args.ldc = n;
  run(GetParam(), args, pool);
  args.c = residual.data();
  run(GetParam(), args, pool);
  EXPECT_EQ(residual, expected);
}

/// A row's bits do not depend on the rows around it, on its place, or on the threads.
TEST_P(Gemm, BatchInvariance) {
  constexpr int64_t n = 40;
  const bool emulated = GetParam().kernel != nullptr;  // these are slow
  const int64_t longest = emulated ? 160 : 512;
  for (int64_t k : emulated ? std::vector<int64_t>{416} : std::vector<int64_t>{96, 770, 1600}) {
    Values a(GetParam().dtype, random_values(longest * k, 5));
    const Packed packed(GetParam(), random_values(n * k, 6), n, k);
    const std::vector<float> bias = random_values(n, 7);
    const size_t row_bytes = k * dtype_size(GetParam().dtype);
    GemmArgs args{.a_dtype = GetParam().dtype, .lda = k, .b = &packed.matrix, .bias = bias.data()};
    args.activation = Activation::gelu;
    args.ldc = n;
    ThreadPool one(1);
    std::vector<float> alone(longest * n);
    args.m = 1;
    for (int64_t i = 0; i < longest; ++i) {
      args.a = static_cast<const std::byte*>(a.data()) + i * row_bytes;
      args.c = alone.data() + i * n;
      run(GetParam(), args, one);
    }
    std::vector<int64_t> sizes = {127, 128, 129, longest - 1, longest};
    for (int64_t m = 1; m <= (emulated ? 34 : 70); ++m) sizes.push_back(m);
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      for (int64_t m : sizes) {
        const int64_t first = (m * 37) % (longest - m + 1);
        std::vector<float> together(m * n);
        args.m = m;
        args.a = static_cast<const std::byte*>(a.data()) + first * row_bytes;
        args.c = together.data();
        run(GetParam(), args, pool);
        ASSERT_EQ(0, std::memcmp(together.data(), alone.data() + first * n, m * n * sizeof(float)))
            << "m " << m << " k " << k << " threads " << threads;
      }
    }
  }
}

TEST_P(Gemm, WorkspaceGrowsWithRows) {
  const PackedMatrix matrix{GetParam().dtype, GetParam().isa, 768, 3072, nullptr};
  for (int threads : {1, 2, 7}) {
    size_t before = 0;
    for (int64_t m = 0; m < 600; ++m) {
      GemmArgs args{.m = m, .b = &matrix};
      const size_t bytes = gemm_workspace(args, threads);
      ASSERT_GE(bytes, before) << "m " << m;
      before = bytes;
    }
  }
}

TEST_P(Gemm, PacksInPartsAndUnpacks) {
  const auto [isa, dtype, kernel] = GetParam();
  const int64_t unit = panel_rows(isa);
  for (int64_t n : {int64_t{1}, unit, 3 * unit + 5}) {
    for (int64_t k : {1, 7, 64, 65}) {
      const std::vector<float> weight = random_values(n * k, 8);
      const Packed whole(GetParam(), weight, n, k);
      Buffer parts = scratch(packed_bytes(isa, dtype, n, k));
      for (int64_t first = 0; first < n; first += unit) {
        pack_rows(isa, dtype, weight.data() + first * k, first, std::min(unit, n - first), n, k,
                  parts.data());
      }
      ASSERT_EQ(0, std::memcmp(parts.data(), whole.memory.data(), parts.size()));
      std::vector<float> row(k);
      for (int64_t j = 0; j < n; ++j) {
        unpack_row(whole.matrix, j, row.data());
        for (int64_t i = 0; i < k; ++i) {
          const float value = weight[j * k + i];
          ASSERT_EQ(row[i], dtype == DType::f32 ? value : to_float(to_bf16(value)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels
