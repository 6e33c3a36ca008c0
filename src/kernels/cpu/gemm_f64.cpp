#include "kernels/cpu/gemm_f64.h"

#include <algorithm>

#include "kernels/cpu/activation_f64.h"
#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {
namespace {

/// A packed matrix by row and column.
template <typename T>
struct Elements {
  T* data;
  int64_t width;
  int64_t k;

  T& operator()(int64_t row, int64_t column) const {
    return data[(row / width * k + column) * width + row % width];
  }
};

Elements<const double> elements(const PackedMatrix& matrix) {
  return {static_cast<const double*>(matrix.data), panel_rows(matrix.isa), matrix.k};
}

const double* row_of(const void* base, int64_t row, int64_t stride) {
  return base ? static_cast<const double*>(base) + row * stride : nullptr;
}

/// Rows that lie one after the other, or in images.
struct RowParts {
  const double* base;
  int64_t stride;
  int64_t width;
  const Patches* patches;

  /// Calls body(at, elements, count) for the parts of a row that are not zero.
  template <typename Body>
  void visit(int64_t row, const Body& body) const {
    if (!patches) return body(int64_t{0}, base + row * stride, width);
    patches->visit(row, [&](int64_t at, int64_t from, int64_t count) {
      if (from >= 0) body(at, base + from, count);
    });
  }
};

}  // namespace

void pack_rows_f64(Isa isa, const double* rows, int64_t first, int64_t count, int64_t n, int64_t k,
                   double* packed) {
  const Elements<double> out{packed, panel_rows(isa), k};
  const int64_t end = first + count == n ? round_up(n, out.width) : first + count;
  for (int64_t row = first; row < end; ++row) {
    for (int64_t i = 0; i < k; ++i) out(row, i) = row < n ? rows[(row - first) * k + i] : 0.0;
  }
}

void unpack_row_f64(const PackedMatrix& matrix, int64_t row, double* out) {
  const auto w = elements(matrix);
  for (int64_t i = 0; i < matrix.k; ++i) out[i] = w(row, i);
}

void gemm_f64(const GemmArgs& args, ThreadPool& pool) {
  const auto w = elements(*args.b);
  const auto* bias = static_cast<const double*>(args.bias);
  const RowParts rows{static_cast<const double*>(args.a), args.lda, args.b->k, args.patches};
  pool.run(args.m, [&](int64_t row, int) {
    const double* residual = row_of(args.residual, row, args.ldr);
    double* c = static_cast<double*>(args.c) + row * args.ldc;
    for (int64_t j = 0; j < args.b->n; ++j) {
      double sum = bias ? bias[j] : 0.0;
      rows.visit(row, [&](int64_t at, const double* a, int64_t count) {
        for (int64_t i = 0; i < count; ++i) sum += a[i] * w(j, at + i);
      });
      c[j] = activation_f64(args.activation, sum).value + (residual ? residual[j] : 0.0);
      if (args.cuts_sum) c[j] = std::max(c[j], 0.0);
    }
  });
}

void gemm_input_gradient_f64(const InputGradientArgs& args, ThreadPool& pool) {
  const auto w = elements(*args.w);
  pool.run(args.m, [&](int64_t row, int) {
    const double* dy = row_of(args.dy, row, args.lddy);
    const double* add = row_of(args.add, row, args.ldadd);
    double* dx = static_cast<double*>(args.dx) + row * args.lddx;
    for (int64_t i = 0; i < args.w->k; ++i) {
      double sum = add ? add[i] : 0.0;
      for (int64_t j = 0; j < args.w->n; ++j) sum += dy[j] * w(j, i);
      dx[i] = sum;
    }
  });
}

void gemm_weight_gradient_f64(const WeightGradientArgs& args, ThreadPool& pool) {
  const Elements<double> dw{static_cast<double*>(args.dw), panel_rows(args.isa), args.k};
  auto* dbias = static_cast<double*>(args.dbias);
  const RowParts rows{static_cast<const double*>(args.x), args.ldx, args.k, args.patches};
  pool.run(args.n, [&](int64_t j, int) {
    for (int64_t t = 0; t < args.m; ++t) {
      const double dy = row_of(args.dy, t, args.lddy)[j];
      rows.visit(t, [&](int64_t at, const double* x, int64_t count) {
        for (int64_t i = 0; i < count; ++i) dw(j, at + i) += dy * x[i];
      });
      if (dbias) dbias[j] += dy;
    }
  });
}

}  // namespace hone::kernels
