#include <cmath>

#include "gemm_backward_cases.h"

namespace hone::kernels {
namespace {

void run(const BackwardConfig& config, const InputGradientArgs& args, ThreadPool& pool) {
  if (config.kernel) {
    Buffer workspace(gemm_input_gradient_workspace_with(*config.kernel, args, pool.size()));
    gemm_input_gradient_with(*config.kernel, args, workspace.data(), pool);
  } else {
    Buffer workspace(gemm_input_gradient_workspace(args, pool.size()));
    gemm_input_gradient(args, workspace.data(), pool);
  }
}

struct Options {
  bool add = false;
  DType add_dtype = DType::f32;
  DType dx_dtype = DType::f32;
};

/// Against the same in double; rows are further apart than they are long, and the gaps must stay.
void check(const BackwardConfig& config, int64_t m, int64_t n, int64_t k, Options options,
           ThreadPool& pool) {
  SCOPED_TRACE(testing::Message() << "m " << m << " n " << n << " k " << k << " threads "
                                  << pool.size());
  if (config.dtype == DType::f64) options.add_dtype = options.dx_dtype = DType::f64;
  constexpr double kUntouched = -77;
  const int64_t lddy = n + 3, ldadd = k + 5, lddx = k + 1;
  const Values dy(config.dtype, m * lddy, 1);
  const Weight w(config.isa, config.dtype, n, k, 2);
  const Values add(options.add_dtype, m * ldadd, 3);
  Values dx = Values::filled(options.dx_dtype, m * lddx, kUntouched);
  InputGradientArgs args{.m = m, .dy = dy.data(), .lddy = lddy, .w = &w.matrix};
  args.add = options.add ? add.data() : nullptr;
  args.add_dtype = options.add_dtype;
  args.ldadd = ldadd;
  args.dx = dx.data();
  args.dx_dtype = options.dx_dtype;
  args.lddx = lddx;
  run(config, args, pool);

  for (int64_t t = 0; t < m; ++t) {
    ASSERT_EQ(dx[t * lddx + k], kUntouched) << "row " << t;
    for (int64_t i = 0; i < k; ++i) {
      double sum = options.add ? add[t * ldadd + i] : 0;
      double size = 1;
      for (int64_t j = 0; j < n; ++j) {
        const double product = dy[t * lddy + j] * w.exact[j * k + i];
        sum += product;
        size += std::abs(product);
      }
      const double rounding = options.dx_dtype == DType::bf16 ? 0x1p-8 * std::abs(sum) : 0;
      ASSERT_NEAR(dx[t * lddx + i], sum, sum_tolerance(config.dtype, size) + rounding)
          << "at " << t << ", " << i;
    }
  }
}

class GemmInputGradient : public testing::TestWithParam<BackwardConfig> {};
INSTANTIATE_TEST_SUITE_P(Isas, GemmInputGradient, testing::ValuesIn(backward_configs()),
                         backward_config_name);

TEST_P(GemmInputGradient, ValuesOverShapes) {
  ThreadPool pool(1);
  for (int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65}) {
    for (int64_t k : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 37, 65, 96}) {
      for (int64_t m : {0, 1, 3}) check(GetParam(), m, n, k, {}, pool);
    }
  }
}

TEST_P(GemmInputGradient, ValuesOverRows) {
  ThreadPool pool(2);
  for (int64_t m : {0, 1, 2, 3, 13, 14, 15, 17, 130, 1000}) {
    check(GetParam(), m, 45, 37, {.add = true}, pool);
  }
}

TEST_P(GemmInputGradient, LongSums) {
  ThreadPool pool(2);
  for (int64_t n : {767, 768, 769, 1537, 3072}) check(GetParam(), 15, n, 33, {}, pool);
  check(GetParam(), 130, 770, 100, {}, pool);
}

TEST_P(GemmInputGradient, AddsInAnyDtype) {
  ThreadPool pool(1);
  for (const DType add : {DType::f32, DType::bf16}) {
    for (const DType dx : {DType::f32, DType::bf16}) {
      check(GetParam(), 17, 45, 40, {true, add, dx}, pool);
      check(GetParam(), 17, 45, 40, {false, add, dx}, pool);
    }
  }
}

TEST_P(GemmInputGradient, AddMayBeTheResult) {
  ThreadPool pool(2);
  constexpr int64_t m = 20, n = 70, k = 50;
  const auto& config = GetParam();
  for (DType dtype : {DType::f32, DType::bf16}) {
    if (config.dtype == DType::f64) dtype = DType::f64;
    const Values dy(config.dtype, m * n, 1);
    const Weight w(config.isa, config.dtype, n, k, 2);
    Values add(dtype, m * k, 3);
    Values expected(dtype, m * k);
    InputGradientArgs args{.m = m, .dy = dy.data(), .lddy = n, .w = &w.matrix};
    args.add = add.data();
    args.add_dtype = args.dx_dtype = dtype;
    args.ldadd = args.lddx = k;
    args.dx = expected.data();
    run(config, args, pool);
    args.dx = add.data();
    run(config, args, pool);
    EXPECT_EQ(0, std::memcmp(add.data(), expected.data(), expected.size()));
  }
}

/// A row's bits do not depend on the rows around it, on its place, or on the threads.
TEST_P(GemmInputGradient, BatchInvariance) {
  const auto& config = GetParam();
  constexpr int64_t longest = 150, k = 40;
  const DType out = config.dtype == DType::f64 ? DType::f64 : DType::f32;
  for (int64_t n : {96, 1601}) {
    const Values dy(config.dtype, longest * n, 5);
    const Weight w(config.isa, config.dtype, n, k, 6);
    InputGradientArgs args{.lddy = n, .w = &w.matrix, .dx_dtype = out, .lddx = k};
    ThreadPool one(1);
    Values alone(out, longest * k);
    args.m = 1;
    for (int64_t t = 0; t < longest; ++t) {
      args.dy = dy.at(t * n);
      args.dx = const_cast<std::byte*>(alone.at(t * k));
      run(config, args, one);
    }
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      for (int64_t m : {2, 5, 14, 15, 31, 33, 127, 128, 129, 149, 150}) {
        const int64_t first = (m * 37) % (longest - m + 1);
        Values together(out, m * k);
        args.m = m;
        args.dy = dy.at(first * n);
        args.dx = together.data();
        run(config, args, pool);
        ASSERT_EQ(0, std::memcmp(together.data(), alone.at(first * k), together.size()))
            << "m " << m << " n " << n << " threads " << threads;
      }
    }
  }
}

TEST_P(GemmInputGradient, WorkspaceGrowsWithRows) {
  const PackedMatrix matrix{GetParam().dtype, GetParam().isa, 3072, 768, nullptr};
  if (GetParam().kernel) GTEST_SKIP() << "sizes do not depend on the engine";
  for (int threads : {1, 2, 7}) {
    size_t before = 0;
    for (int64_t m = 0; m < 600; ++m) {
      const InputGradientArgs args{.m = m, .w = &matrix};
      const size_t bytes = gemm_input_gradient_workspace(args, threads);
      ASSERT_GE(bytes, before) << "m " << m;
      before = bytes;
    }
  }
}

}  // namespace
}  // namespace hone::kernels
