#include "kernels/cpu/gemm_f64.h"

#include <cmath>

#include "gemm_backward_cases.h"
#include "kernels/cpu/activation_f64.h"

namespace hone::kernels {
namespace {

TEST(GemmF64, Values) {
  ThreadPool pool(2);
  for (const Isa isa : available_isas()) {
    for (int64_t m : {0, 1, 5}) {
      for (int64_t n : {1, 15, 16, 17, 33}) {
        for (int64_t k : {0, 1, 37}) {
          const int64_t lda = k + 1, ldr = n + 2, ldc = n + 3;
          const Values a(DType::f64, m * lda, 1), bias(DType::f64, n, 3);
          const Values residual(DType::f64, m * ldr, 4);
          const Weight w(isa, DType::f64, n, k, 2);
          Values c(DType::f64, m * ldc);
          GemmArgs args{.m = m, .a = a.data(), .a_dtype = DType::f64, .lda = lda, .b = &w.matrix};
          args.bias = bias.data();
          args.activation = Activation::gelu;
          args.residual = residual.data();
          args.residual_dtype = args.c_dtype = DType::f64;
          args.ldr = ldr;
          args.c = c.data();
          args.ldc = ldc;
          ASSERT_EQ(gemm_workspace(args, 2), 0u);
          gemm(args, nullptr, pool);
          for (int64_t t = 0; t < m; ++t) {
            for (int64_t j = 0; j < n; ++j) {
              double sum = bias[j];
              for (int64_t i = 0; i < k; ++i) sum += a[t * lda + i] * w.exact[j * k + i];
              const double y = activation_f64(Activation::gelu, sum).value;
              ASSERT_NEAR(c[t * ldc + j], y + residual[t * ldr + j], 1e-13);
            }
          }
        }
      }
    }
  }
}

TEST(GemmF64, PacksInPartsAndUnpacks) {
  for (const Isa isa : available_isas()) {
    const int64_t unit = panel_rows(isa);
    const int64_t n = 2 * unit + 5, k = 7;
    const Values rows(DType::f64, n * k, 1);
    std::vector<float> floats(n * k);
    for (int64_t i = 0; i < n * k; ++i) floats[i] = static_cast<float>(rows[i]);
    Buffer parts(packed_bytes(isa, DType::f64, n, k)), whole(parts.size());
    for (int64_t first = 0; first < n; first += unit) {
      pack_rows_f64(isa, static_cast<const double*>(rows.data()) + first * k, first,
                    std::min(unit, n - first), n, k, parts.as<double>());
    }
    pack_rows(isa, DType::f64, floats.data(), 0, n, n, k, whole.data());
    ASSERT_EQ(0, std::memcmp(parts.data(), whole.data(), parts.size()));
    const PackedMatrix matrix{DType::f64, isa, n, k, parts.data()};
    std::vector<double> row(k);
    std::vector<float> narrow(k);
    for (int64_t j = 0; j < n; ++j) {
      unpack_row_f64(matrix, j, row.data());
      unpack_row(matrix, j, narrow.data());
      for (int64_t i = 0; i < k; ++i) {
        ASSERT_EQ(row[i], rows[j * k + i]);
        ASSERT_EQ(narrow[i], floats[j * k + i]);
      }
    }
  }
}

/// Gradients of the sum of y * dy against central differences, through the calls that train.
TEST(GemmF64, GradientsMatchDifferences) {
  constexpr int64_t m = 5, n = 19, k = 13;
  constexpr double kStep = 1e-4;  // the sum is linear in each argument: only rounding is left
  const Isa isa = chosen_isa();
  ThreadPool pool(1);
  Values x(DType::f64, m * k, 1), bias(DType::f64, n, 2);
  const Values dy(DType::f64, m * n, 3);
  Weight w(isa, DType::f64, n, k, 4);
  const auto loss = [&] {
    Values y(DType::f64, m * n);
    GemmArgs args{.m = m, .a = x.data(), .a_dtype = DType::f64, .lda = k, .b = &w.matrix};
    args.bias = bias.data();
    args.c = y.data();
    args.c_dtype = DType::f64;
    args.ldc = n;
    gemm(args, nullptr, pool);
    double sum = 0;
    for (int64_t i = 0; i < m * n; ++i) sum += y[i] * dy[i];
    return sum;
  };
  const auto slope = [&](double& value) {
    const double before = value;
    value = before + kStep;
    const double above = loss();
    value = before - kStep;
    const double below = loss();
    value = before;
    return (above - below) / (2 * kStep);
  };

  Values dx(DType::f64, m * k);
  Values dw = Values::filled(DType::f64, static_cast<int64_t>(w.memory.size() / 8), 0);
  Values dbias = Values::filled(DType::f64, n, 0);
  InputGradientArgs input{.m = m, .dy = dy.data(), .lddy = n, .w = &w.matrix};
  input.dx = dx.data();
  input.dx_dtype = DType::f64;
  input.lddx = k;
  gemm_input_gradient(input, nullptr, pool);
  WeightGradientArgs weight{.isa = isa, .dtype = DType::f64, .m = m, .n = n, .k = k};
  weight.dy = dy.data();
  weight.lddy = n;
  weight.x = x.data();
  weight.ldx = k;
  weight.dw = dw.data();
  weight.dbias = dbias.data();
  gemm_weight_gradient(weight, nullptr, pool);

  for (int64_t i = 0; i < m * k; ++i) {
    ASSERT_NEAR(dx[i], slope(static_cast<double*>(x.data())[i]), 1e-9);
  }
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_NEAR(dbias[i], slope(static_cast<double*>(bias.data())[i]), 1e-9);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(w.memory.size() / 8); ++i) {
    ASSERT_NEAR(dw[i], slope(w.memory.as<double>()[i]), 1e-9) << "packed element " << i;
  }
}

}  // namespace
}  // namespace hone::kernels
