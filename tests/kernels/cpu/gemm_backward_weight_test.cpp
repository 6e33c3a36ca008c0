#include <cmath>

#include "gemm_backward_cases.h"

namespace hone::kernels {
namespace {

void run(const BackwardConfig& config, const WeightGradientArgs& args, ThreadPool& pool) {
  if (config.kernel) {
    Buffer workspace(gemm_weight_gradient_workspace_with(*config.kernel, args));
    gemm_weight_gradient_with(*config.kernel, args, workspace.data(), pool);
  } else {
    Buffer workspace(gemm_weight_gradient_workspace(args, pool.size()));
    gemm_weight_gradient(args, workspace.data(), pool);
  }
}

/// Operands and a gradient so far, its padding zero.
struct Case {
  int64_t m, n, k;
  int64_t lddy, ldx;
  DType sums;
  Values dy, x;
  Values before, bias_before;
  Values dw, dbias;

  Case(const BackwardConfig& config, int64_t tokens, int64_t rows, int64_t columns, int64_t gap = 3)
      : m(tokens),
        n(rows),
        k(columns),
        lddy(n + gap),
        ldx(k + gap),
        sums(config.dtype == DType::f64 ? DType::f64 : DType::f32),
        dy(config.dtype, m * lddy, 1),
        x(config.dtype, m * ldx, 2),
        before(sums, n * k, 3),
        bias_before(sums, n, 4),
        dw(Values::filled(sums, round_up(n, panel_rows(config.isa)) * k, 0)),
        dbias(sums, n, 4) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < k; ++i) {
        dw.set(packed_index(config.isa, k, j, i), before[j * k + i]);
      }
    }
  }

  WeightGradientArgs args(const BackwardConfig& config) {
    return {.isa = config.isa,
            .dtype = config.dtype,
            .m = m,
            .n = n,
            .k = k,
            .dy = dy.data(),
            .lddy = lddy,
            .x = x.data(),
            .ldx = ldx,
            .dw = dw.data(),
            .dbias = dbias.data()};
  }

  void verify_weight(const BackwardConfig& config, int times) const {
    const int64_t width = panel_rows(config.isa);
    for (int64_t j = 0; j < round_up(n, width); ++j) {
      for (int64_t i = 0; i < k; ++i) {
        const double got = dw[packed_index(config.isa, k, j, i)];
        if (j >= n) {
          ASSERT_EQ(got, 0) << "padding at " << j << ", " << i;
          continue;
        }
        double sum = before[j * k + i], size = 1;
        for (int64_t t = 0; t < m; ++t) {
          const double product = times * dy[t * lddy + j] * x[t * ldx + i];
          sum += product;
          size += std::abs(product);
        }
        ASSERT_NEAR(got, sum, sum_tolerance(config.dtype, size)) << "at " << j << ", " << i;
      }
    }
  }

  void verify_bias(const BackwardConfig& config, int times) const {
    for (int64_t j = 0; j < n; ++j) {
      double sum = bias_before[j], size = 1;
      for (int64_t t = 0; t < m; ++t) {
        sum += times * dy[t * lddy + j];
        size += std::abs(dy[t * lddy + j]);
      }
      ASSERT_NEAR(dbias[j], sum, sum_tolerance(config.dtype, times * size)) << "bias " << j;
    }
  }
};

void check(const BackwardConfig& config, int64_t m, int64_t n, int64_t k, ThreadPool& pool,
           int64_t gap = 3) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " threads "
                                  << pool.size());
  Case c(config, m, n, k, gap);
  run(config, c.args(config), pool);
  c.verify_weight(config, 1);
  c.verify_bias(config, 1);
}

class GemmWeightGradient : public testing::TestWithParam<BackwardConfig> {};
INSTANTIATE_TEST_SUITE_P(Isas, GemmWeightGradient, testing::ValuesIn(backward_configs()),
                         backward_config_name);

TEST_P(GemmWeightGradient, ValuesOverShapes) {
  ThreadPool pool(1);
  for (int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65}) {
    for (int64_t k : {1, 2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 31, 32, 33, 65}) {
      for (int64_t m : {0, 1, 3}) check(GetParam(), m, n, k, pool);
    }
  }
}

TEST_P(GemmWeightGradient, ValuesOverTokens) {
  ThreadPool pool(2);
  for (int64_t m : {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 130, 511, 512, 513, 1000}) {
    check(GetParam(), m, 45, 37, pool);
  }
  check(GetParam(), 1537, 33, 15, pool);
}

TEST_P(GemmWeightGradient, WideMatrices) {
  ThreadPool pool(2);
  check(GetParam(), 5, 129, 300, pool);
  check(GetParam(), 17, 260, 129, pool, 0);
  check(GetParam(), 40, 128, 128, pool, 0);
}

TEST_P(GemmWeightGradient, AddsAgain) {
  ThreadPool pool(1);
  Case c(GetParam(), 70, 33, 50);
  run(GetParam(), c.args(GetParam()), pool);
  run(GetParam(), c.args(GetParam()), pool);
  c.verify_weight(GetParam(), 2);
  c.verify_bias(GetParam(), 2);
}

TEST_P(GemmWeightGradient, BiasIsOptional) {
  ThreadPool pool(1);
  Case c(GetParam(), 17, 33, 20);
  WeightGradientArgs args = c.args(GetParam());
  args.dbias = nullptr;
  run(GetParam(), args, pool);
  c.verify_weight(GetParam(), 1);
  EXPECT_EQ(0, std::memcmp(c.dbias.data(), c.bias_before.data(), c.dbias.size()));
}

TEST_P(GemmWeightGradient, SameBitsOnAnyNumberOfThreads) {
  for (int64_t m : {3, 130, 1000}) {
    Case first(GetParam(), m, 200, 150);
    ThreadPool one(1);
    run(GetParam(), first.args(GetParam()), one);
    for (int threads : {2, 3}) {
      Case c(GetParam(), m, 200, 150);
      ThreadPool pool(threads);
      run(GetParam(), c.args(GetParam()), pool);
      ASSERT_EQ(0, std::memcmp(c.dw.data(), first.dw.data(), c.dw.size())) << threads;
      ASSERT_EQ(0, std::memcmp(c.dbias.data(), first.dbias.data(), c.dbias.size())) << threads;
    }
  }
}

TEST_P(GemmWeightGradient, WorkspaceGrowsWithTokens) {
  if (GetParam().kernel) GTEST_SKIP() << "sizes do not depend on the engine";
  WeightGradientArgs args{.isa = GetParam().isa, .dtype = GetParam().dtype, .n = 770, .k = 300};
  for (int threads : {1, 2, 7}) {
    size_t before = 0;
    for (args.m = 0; args.m < 1200; ++args.m) {
      const size_t bytes = gemm_weight_gradient_workspace(args, threads);
      ASSERT_GE(bytes, before) << "m " << args.m;
      before = bytes;
    }
  }
}

}  // namespace
}  // namespace hone::kernels
