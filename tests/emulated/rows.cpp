// Kernels over rows: products, the head, sums, and what goes over flat arrays.

#include <vector>

#include "emulated/numbers.h"
#include "emulated/queue.h"
#include "kernels/cpu/activation_f64.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {

using emulated::load;
using emulated::store;
using emulated::submit;

namespace {

/// Loads a matrix, whose rows are `stride` elements apart.
std::vector<float> load_matrix(DType dtype, const void* data, int64_t rows, int64_t columns,
                               int64_t stride) {
  return emulated::load_all(dtype, data, rows > 0 ? (rows - 1) * stride + columns : 0);
}

void multiply(const ProductShape& s, const ProductArrays& p) {
  const bool forward = s.kind == ProductKind::forward;
  const bool weight = s.kind == ProductKind::weight_gradient;
  const int64_t rows = weight ? s.n : s.m, columns = forward ? s.n : s.k;
  const int64_t depth = forward ? s.k : weight ? s.m : s.n;
  const std::vector<float> a = load_matrix(s.dtype, p.a, s.m, forward ? s.k : s.n, s.lda);
  const std::vector<float> b = load_matrix(s.dtype, p.b, weight ? s.m : s.n, s.k, s.ldb);
  const int64_t a_row = weight ? 1 : s.lda, a_step = weight ? s.lda : 1;
  const int64_t b_column = forward ? s.ldb : 1, b_step = forward ? 1 : s.ldb;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = i * s.ldc + j;
      double sum = s.bias ? load(s.out, p.bias, j) : 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += double{a[static_cast<size_t>(i * a_row + k * a_step)]} *
               b[static_cast<size_t>(j * b_column + k * b_step)];
      }
      if (s.add) sum += load(s.out, p.c, at);
      store(s.out, p.c, at, sum);
    }
  }
}

/// Calls body(i) for elements of a flat array.
template <typename Body>
Status for_each(int64_t count, Stream stream, const Body& body) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < count; ++i) body(i);
  });
}

kernels::ActivationF64 activated(Activation activation, double x) {
  return kernels::activation_f64(static_cast<kernels::Activation>(activation), x);
}

}  // namespace

Status product_prepare(const ProductShape& s, size_t, size_t* workspace_bytes) {
  *workspace_bytes = 0;
  return s.dtype == DType::f8 ? "the emulation has no fp8" : nullptr;
}
Status product_tune(const ProductShape& shape, const ProductArrays& arrays, void*, size_t,
                    Stream stream) {
  return submit(stream, [=] { multiply(shape, arrays); });
}
Status product(const ProductShape& shape, const ProductArrays& arrays, void*, size_t,
               Stream stream) {
  return submit(stream, [=] { multiply(shape, arrays); });
}
Status product_restore(const TunedProduct&) { return nullptr; }
Status product_tuned(int64_t, TunedProduct*) { return "end"; }
Status product_library(uint64_t* version, const char** path) {
  *version = 0;
  *path = "emulated";
  return nullptr;
}

size_t row_sums_workspace(int64_t, int64_t width) {
  return static_cast<size_t>(3 * width) * sizeof(float);
}
size_t one_row_sum_workspace(int64_t, int64_t width) {
  return static_cast<size_t>(width) * sizeof(float);
}
Status column_sums(DType dtype, const void* x, int64_t stride, int64_t rows, int64_t width,
                   float* out, void* workspace, Stream stream, RowSums* sums) {
  auto* partials = static_cast<float*>(workspace);
  *sums = {};
  if (out) {
    sums->partials = partials;
    sums->blocks = sums->sums = 1;
    sums->width = static_cast<int32_t>(width);
    sums->outs[0] = out;
  }
  return for_each(width, stream, [=](int64_t column) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += load(dtype, x, row * stride + column);
    partials[column] = static_cast<float>(sum);
  });
}
Status add_row_sums(const RowSums* list, int64_t count, Stream stream) {
  return submit(stream, [all = std::vector<RowSums>(list, list + count)] {
    for (const RowSums& own : all) {
      if (!own.partials) continue;
      for (int64_t i = 0; i < int64_t{own.sums} * own.width; ++i) {
        float* out = own.outs[i / own.width];
        if (!out) continue;
        double sum = 0;
        for (int64_t block = 0; block < own.blocks; ++block) {
          sum += own.partials[block * own.sums * own.width + i];
        }
        out[i % own.width] += static_cast<float>(sum);
      }
    }
  });
}

Status head(const HeadForward& h, Stream stream) {
  if (h.dropout.p > 0) return "the emulation drops nothing";
  return for_each(h.rows * h.outputs, stream, [=](int64_t i) {
    double sum = h.bias ? h.bias[i % h.outputs] : 0;
    for (int64_t c = 0; c < h.width; ++c) {
      sum += double{load(h.dtype, h.x, i / h.outputs * h.width + c)} *
             h.weight[i % h.outputs * h.width + c];
    }
    h.logits[i] = static_cast<float>(sum);
  });
}
Status head_backward(const HeadForward& h, const HeadBackward& args, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; args.dx && i < h.rows * h.width; ++i) {
      double sum = 0;
      for (int64_t o = 0; o < h.outputs; ++o) {
        sum +=
            double{args.dlogits[i / h.width * h.outputs + o]} * h.weight[o * h.width + i % h.width];
      }
      store(h.dtype, args.dx, i, sum);
    }
    for (int64_t o = 0; o < h.outputs; ++o) {
      for (int64_t c = 0; c <= h.width; ++c) {
        double sum = 0;
        for (int64_t row = 0; row < h.rows; ++row) {
          const double x = c < h.width ? load(h.dtype, h.x, row * h.width + c) : 1;
          sum += args.dlogits[row * h.outputs + o] * x;
        }
        float* to = c < h.width ? args.dweight : args.dbias;
        if (to) to[c < h.width ? o * h.width + c : o] += static_cast<float>(sum);
      }
    }
  });
}

Status binary_logits(const float* x, int64_t rows, bool widens, float* y, Stream stream) {
  return for_each(rows, stream, [=](int64_t row) {
    if (widens) y[2 * row] = 0;
    y[widens ? 2 * row + 1 : row] = x[widens ? row : 2 * row + 1];
  });
}

Status convert(DType from, const void* x, DType to, void* y, int64_t count, Stream stream) {
  return for_each(count, stream, [=](int64_t i) { store(to, y, i, load(from, x, i)); });
}
Status scale(DType dtype, const void* x, int64_t count, float factor, void* y, Stream stream) {
  return for_each(count, stream,
                  [=](int64_t i) { store(dtype, y, i, load(dtype, x, i) * factor); });
}
Status add(DType dtype, const void* a, const void* b, int64_t count, void* out, Stream stream) {
  return for_each(count, stream,
                  [=](int64_t i) { store(dtype, out, i, load(dtype, a, i) + load(dtype, b, i)); });
}
Status activate(Activation activation, DType dtype, const void* x, int64_t count, void* y,
                Stream stream) {
  return for_each(count, stream, [=](int64_t i) {
    store(dtype, y, i, activated(activation, load(dtype, x, i)).value);
  });
}
Status activation_backward(const ActivationBackward& args, void* workspace, Stream stream,
                           RowSums* sums) {
  if (const Status status = for_each(args.rows * args.width, stream, [a = args](int64_t i) {
        const double z = load(a.dtype, a.z, i), dy = load(a.dtype, a.dy, i);
        const kernels::ActivationF64 at = activated(a.activation, z);
        if (a.y) store(a.dtype, a.y, i, at.value);
        store(a.dtype, a.dz, i, dy * at.slope);
      })) {
    return status;
  }
  if (!args.dbias) return nullptr;
  return column_sums(args.dtype, args.dz, args.width, args.rows, args.width, args.dbias, workspace,
                     stream, sums);
}
Status add_relu(DType dtype, const void* a, const void* b, int64_t count, void* y, Stream stream) {
  return for_each(count, stream, [=](int64_t i) {
    const float sum = load(dtype, a, i) + (b ? load(dtype, b, i) : 0);
    store(dtype, y, i, sum < 0 ? 0 : sum);
  });
}
Status relu_backward(DType dtype, const void* dy, const void* y, int64_t count, void* dx,
                     Stream stream) {
  return for_each(count, stream, [=](int64_t i) {
    store(dtype, dx, i, load(dtype, y, i) > 0 ? load(dtype, dy, i) : 0);
  });
}

}  // namespace hone::kernels::cuda
