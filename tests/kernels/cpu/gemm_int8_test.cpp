#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "device/memory.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_amx-inl.h"
#include "kernels/cpu/gemm_emulated_tiles.h"

namespace hone::kernels {
namespace {

struct Config {
  Isa isa;
  const GemmKernel* kernel = nullptr;  // instead of the isa's own
};

std::vector<Config> configs() {
  std::vector<Config> all;
  for (Isa isa : available_isas()) all.push_back({isa});
  if (cpu_info().avx512) all.push_back({Isa::amx, &amx::kKernel<EmulatedByteTiles>});
  return all;
}

std::string config_name(const testing::TestParamInfo<Config>& info) {
  return std::string(info.param.kernel ? "emulated_" : "") + std::string(isa_name(info.param.isa));
}

/// Scratch that starts as ones, so that reading what was never written shows.
Buffer scratch(size_t bytes) {
  Buffer buffer(bytes);
  if (bytes > 0) std::memset(buffer.data(), 0xff, bytes);
  return buffer;
}

/// A product of bytes with everything that belongs to it.
struct Product {
  Config config;
  int64_t m, n, k, lda, ldc;
  std::vector<uint8_t> a;
  std::vector<RowScale> rows;
  std::vector<int8_t> weight;
  std::vector<float> scales;
  std::vector<float> bias;
  Buffer packed;
  PackedMatrix matrix;

  /// `scaled`: random scales; otherwise 1, so that results are whole numbers.
  Product(Config with, int64_t m_, int64_t n_, int64_t k_, bool scaled, int64_t gap = 3)
      : config(with), m(m_), n(n_), k(k_), lda(k_ + gap), ldc(n_ + 1), bias(n_) {
    std::mt19937 generator(static_cast<uint32_t>(m * 31 + n * 7 + k));
    const auto draw = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(generator);
    };
    for (int64_t i = 0; i < m * lda; ++i) a.push_back(static_cast<uint8_t>(draw(0, 255)));
    for (int64_t i = 0; i < n * k; ++i) weight.push_back(static_cast<int8_t>(draw(-127, 127)));
    for (int64_t i = 0; i < m; ++i) {
      rows.push_back({scaled ? 1e-3f * static_cast<float>(draw(1, 9)) : 1.0f, draw(0, 255)});
    }
    for (int64_t j = 0; j < n; ++j) {
      scales.push_back(scaled ? 1e-3f * static_cast<float>(draw(1, 9)) : 1.0f);
      if (scaled) bias[j] = 0.1f * static_cast<float>(draw(-9, 9));
    }
    pack();
  }

  void pack() {
    packed = scratch(packed_bytes(config.isa, DType::i8, n, k));
    pack_quantized_rows(config.isa, weight.data(), scales.data(), 0, n, k, packed.data());
    matrix = {DType::i8, config.isa, n, k, packed.data()};
  }

  GemmArgs args(void* c, DType c_dtype = DType::f32) const {
    GemmArgs args{.m = m, .a = a.data(), .a_dtype = DType::u8, .lda = lda};
    args.a_scales = rows.data();
    args.b = &matrix;
    args.bias = bias.data();
    args.c = c;
    args.c_dtype = c_dtype;
    args.ldc = ldc;
    return args;
  }

  int64_t sum(int64_t i, int64_t j) const {
    int64_t total = 0;
    for (int64_t p = 0; p < k; ++p) {
      total += (a[i * lda + p] - rows[i].zero) * weight[j * k + p];
    }
    return total;
  }
};

void run(const Config& config, const GemmArgs& args, ThreadPool& pool) {
  if (config.kernel) {
    Buffer workspace = scratch(gemm_workspace_with(*config.kernel, args, pool.size()));
    gemm_with(*config.kernel, args, workspace.data(), pool);
  } else {
    Buffer workspace = scratch(gemm_workspace(args, pool.size()));
    gemm(args, workspace.data(), pool);
  }
}

void expect_exact(const Product& product, ThreadPool& pool) {
  SCOPED_TRACE(testing::Message() << "m " << product.m << " n " << product.n << " k " << product.k
                                  << " threads " << pool.size());
  constexpr float kUntouched = -77.5f;
  std::vector<float> c(product.m * product.ldc, kUntouched);
  run(product.config, product.args(c.data()), pool);
  for (int64_t i = 0; i < product.m; ++i) {
    ASSERT_EQ(c[i * product.ldc + product.n], kUntouched) << "row " << i;
    for (int64_t j = 0; j < product.n; ++j) {
      ASSERT_EQ(c[i * product.ldc + j], static_cast<float>(product.sum(i, j)))
          << "at " << i << ", " << j;
    }
  }
}

class GemmInt8 : public testing::TestWithParam<Config> {};
INSTANTIATE_TEST_SUITE_P(Isas, GemmInt8, testing::ValuesIn(configs()), config_name);

TEST_P(GemmInt8, ExactSumsOverRowsAndColumns) {
  ThreadPool pool(1);
  for (int64_t m : {0, 1, 2, 5, 6, 7, 13, 14, 15, 16, 17, 29, 31, 32, 33, 113}) {
    for (int64_t n : {1, 2, 15, 16, 17, 31, 32, 33, 65}) {
      expect_exact(Product(GetParam(), m, n, 37, false), pool);
    }
  }
}

TEST_P(GemmInt8, ExactSumsOverDepths) {
  ThreadPool pool(2);
  for (int64_t k : {0, 1, 2, 3, 4, 5, 6, 7, 63, 64, 65, 130, 383, 384, 768, 769, 3072, 4099}) {
    for (int64_t m : {1, 15, 33}) expect_exact(Product(GetParam(), m, 33, k, false), pool);
  }
}

TEST_P(GemmInt8, RowsAtAnyDistance) {
  ThreadPool pool(1);
  for (int64_t gap : {0, 1, 2, 64, 2048 - 128}) {
    for (int64_t m : {1, 16, 35}) {
      expect_exact(Product(GetParam(), m, 33, 128, false, gap), pool);
    }
  }
  for (int64_t m : {1, 32, 129}) expect_exact(Product(GetParam(), m, 33, 2048, false, 0), pool);
}

TEST_P(GemmInt8, AnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (int64_t m : {1, 7, 120, 300}) {
      expect_exact(Product(GetParam(), m, 100, 64, false), pool);
    }
    expect_exact(Product(GetParam(), 140, 70, 4096, false), pool);
  }
}

/// Every processor gives the same bits: this is FNV-1a of C, as x86-64 has it.
TEST_P(GemmInt8, BitsOfEveryProcessor) {
  ThreadPool pool(2);
  uint64_t hash = 0xcbf29ce484222325;
  for (const int64_t k : {1, 37, 384, 1000, 3072}) {
    const Product product(GetParam(), 19, 45, k, k != 37);
    std::vector<float> c(product.m * product.ldc);
    run(GetParam(), product.args(c.data()), pool);
    for (const float value : c) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0xf610e4fd659882d1ULL);
}

/// Sums that would saturate 16 bits, in both directions.
TEST_P(GemmInt8, LargestBytes) {
  ThreadPool pool(1);
  for (int8_t weight : {127, -127}) {
    Product product(GetParam(), 17, 33, 640, false);
    std::fill(product.a.begin(), product.a.end(), uint8_t{255});
    std::fill(product.weight.begin(), product.weight.end(), weight);
    product.pack();
    for (RowScale& row : product.rows) row.zero = 0;
    expect_exact(product, pool);
  }
}

TEST_P(GemmInt8, ScalesBiasActivationResidualAndDtype) {
  ThreadPool pool(1);
  for (Activation activation : {Activation::none, Activation::gelu, Activation::relu}) {
    for (DType dtype : {DType::f32, DType::bf16}) {
      for (bool with_residual : {false, true}) {
        const Product product(GetParam(), 17, 45, 40, true);
        const size_t size = product.m * product.ldc;
        std::vector<float> residual(size);
        for (size_t i = 0; i < size; ++i) residual[i] = 0.01f * static_cast<float>(i % 100);
        Buffer c(size * sizeof(float));
        GemmArgs args = product.args(c.data(), dtype);
        args.activation = activation;
        args.residual = with_residual ? residual.data() : nullptr;
        args.ldr = product.ldc;
        run(GetParam(), args, pool);
        for (int64_t i = 0; i < product.m; ++i) {
          for (int64_t j = 0; j < product.n; ++j) {
            const int64_t at = i * product.ldc + j;
            const double x =
                static_cast<double>(product.sum(i, j)) * product.rows[i].scale * product.scales[j] +
                product.bias[j];
            double expected = x;
            if (activation == Activation::relu) expected = std::max(x, 0.0);
            if (activation == Activation::gelu) {
              expected = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
            }
            if (with_residual) expected += residual[at];
            const bool narrow = dtype == DType::bf16;
            const float got = narrow ? to_float(c.as<bf16>()[at]) : c.as<float>()[at];
            const double form = activation == Activation::gelu ? 1.4e-4 : 0;  // a shorter one
            ASSERT_NEAR(got, expected, 1e-5 + form + std::abs(expected) * (narrow ? 0x1p-8 : 1e-6))
                << "at " << i << ", " << j;
          }
        }
      }
    }
  }
}

/// A product of one row whose sums count for nothing: what comes is activation(bias).
Product of_bias(const Config& config, std::vector<float> bias) {
  Product product(config, 1, static_cast<int64_t>(bias.size()), 1, false);
  product.rows[0].scale = 0.0f;
  product.bias = std::move(bias);
  return product;
}

TEST_P(GemmInt8, GeluOverItsRange) {
  std::vector<float> x;
  for (int i = -4000; i <= 4000; ++i) x.push_back(0.002f * static_cast<float>(i));
  x.insert(x.end(), {-1e30f, -20.0f, 20.0f, 1e30f});
  const Product product = of_bias(GetParam(), x);
  std::vector<float> c(product.ldc);
  GemmArgs args = product.args(c.data());
  args.activation = Activation::gelu;
  ThreadPool pool(1);
  run(GetParam(), args, pool);
  for (int64_t j = 0; j < product.n; ++j) {
    const double expected = 0.5 * x[j] * std::erfc(-x[j] / std::sqrt(2.0));
    ASSERT_NEAR(c[j], expected, 1.4e-4 + std::abs(expected) * 1e-7) << "of " << x[j];
  }
}

TEST_P(GemmInt8, Bf16IsRoundedToNearestEven) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f, inf, -inf, 0x1.fffffep127f, -0x1.fffffep127f, 0x1p-126f};
  std::mt19937 generator(5);
  for (int i = 0; i < 4096; ++i) {
    const uint32_t low = i % 4 == 0 ? 0x8000u : i % 4 == 1 ? 0u : generator() & 0xffffu;
    const uint32_t exponent = 1 + generator() % 254;
    const uint32_t high = (generator() & 0x807fu) | exponent << 7;
    x.push_back(std::bit_cast<float>(high << 16 | low));
  }
  const Product product = of_bias(GetParam(), x);
  std::vector<bf16> c(product.ldc);
  ThreadPool pool(1);
  run(GetParam(), product.args(c.data(), DType::bf16), pool);
  for (int64_t j = 0; j < product.n; ++j) {
    ASSERT_EQ(c[j].bits, to_bf16(x[j]).bits) << "of " << x[j];
  }
}

/// A row's bits do not depend on the rows around it, on its place, or on the threads.
TEST_P(GemmInt8, BatchInvariance) {
  const bool emulated = GetParam().kernel != nullptr;  // these are slow
  const int64_t longest = emulated ? 70 : 300;
  const Product product(GetParam(), longest, 40, 832, true);
  const size_t row_bytes = product.ldc * sizeof(float);
  std::vector<float> alone(longest * product.ldc);
  ThreadPool one(1);
  const auto part = [&](int64_t first, int64_t count, float* c, ThreadPool& pool) {
    GemmArgs args = product.args(c);
    args.activation = Activation::gelu;
    args.m = count;
    args.a = product.a.data() + first * product.lda;
    args.a_scales = product.rows.data() + first;
    run(GetParam(), args, pool);
  };
  for (int64_t i = 0; i < longest; ++i) part(i, 1, alone.data() + i * product.ldc, one);
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (int64_t m : {1, 2, 13, 14, 15, 16, 31, 32, 33, 47, 69, int(longest)}) {
      const int64_t first = (m * 37) % (longest - m + 1);
      std::vector<float> together(m * product.ldc);
      part(first, m, together.data(), pool);
      for (int64_t i = 0; i < m; ++i) {
        ASSERT_EQ(0,
                  std::memcmp(together.data() + i * product.ldc,
                              alone.data() + (first + i) * product.ldc, row_bytes - sizeof(float)))
            << "m " << m << " threads " << threads;
      }
    }
  }
}

TEST_P(GemmInt8, PacksInPartsAndUnpacks) {
  const Isa isa = GetParam().isa;
  const int64_t unit = panel_rows(isa);
  for (int64_t n : {int64_t{1}, unit, 3 * unit + 5}) {
    for (int64_t k : {1, 7, 64, 65}) {
      const Product product(GetParam(), 1, n, k, true);
      Buffer parts = scratch(packed_bytes(isa, DType::i8, n, k));
      for (int64_t first = 0; first < n; first += unit) {
        pack_quantized_rows(isa, product.weight.data() + first * k, product.scales.data() + first,
                            first, std::min(unit, n - first), k, parts.data());
      }
      ASSERT_EQ(0, std::memcmp(parts.data(), product.packed.data(), parts.size()));
      std::vector<float> row(k);
      for (int64_t j = 0; j < n; ++j) {
        unpack_row(product.matrix, j, row.data());
        for (int64_t i = 0; i < k; ++i) {
          ASSERT_EQ(row[i], product.scales[j] * product.weight[j * k + i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hone::kernels
