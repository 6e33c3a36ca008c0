// Products that cuBLASLt does not take: halves in rows of an odd number of bytes' words. Models of
// such sizes are tests' alone, so this is made to be right, not fast.
#include "kernels/cuda/common.cuh"
#include "kernels/cuda/cublaslt.cuh"

namespace hone::kernels::cuda {
namespace {

/// Computes c[i, j] = sum over t of a[i * a_row + t * a_step] * b[j * b_row + t * b_step].
struct Plain {
  int64_t rows, columns, depth;
  int64_t a_row, a_step, b_row, b_step, ldc;
  bool add;
};

Plain plain_of(const ProductShape& s) {
  switch (s.kind) {
    case ProductKind::forward:
      return {s.m, s.n, s.k, s.lda, 1, s.ldb, 1, s.ldc, s.add};
    case ProductKind::input_gradient:
      return {s.m, s.k, s.n, s.lda, 1, 1, s.ldb, s.ldc, s.add};
    default:
      return {s.n, s.k, s.m, 1, s.lda, 1, s.ldb, s.ldc, s.add};
  }
}

template <typename In, typename Out>
__global__ void plain_kernel(Plain p, const In* a, const In* b, const Out* bias, Out* c) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= p.rows * p.columns) return;
  const int64_t i = at / p.columns, j = at % p.columns;
  float sum = 0.0f;
  for (int64_t t = 0; t < p.depth; ++t) {
    sum += to_float(a[i * p.a_row + t * p.a_step]) * to_float(b[j * p.b_row + t * p.b_step]);
  }
  if (bias) sum += to_float(bias[j]);
  Out& out = c[i * p.ldc + j];
  out = from_float<Out>(p.add ? sum + to_float(out) : sum);
}

}  // namespace

bool is_plain_product(const ProductShape& s) {
  return s.dtype != DType::f32 && (s.lda % 2 != 0 || s.ldb % 2 != 0 || s.ldc % 2 != 0);
}

Status plain_product(const ProductShape& shape, const ProductArrays& arrays, Stream stream) {
  const Plain p = plain_of(shape);
  constexpr int kThreads = 128;
  const auto blocks = static_cast<unsigned>(ceil_div(p.rows * p.columns, int64_t{kThreads}));
  return by_dtype(shape.dtype, [&](auto* in) {
    using In = std::remove_pointer_t<decltype(in)>;
    return by_dtype(shape.out, [&](auto* out) {
      using Out = std::remove_pointer_t<decltype(out)>;
      plain_kernel<<<blocks, kThreads, 0, stream_of(stream)>>>(
          p, static_cast<const In*>(arrays.a), static_cast<const In*>(arrays.b),
          static_cast<const Out*>(arrays.bias), static_cast<Out*>(arrays.c));
      return launched();
    });
  });
}

}  // namespace hone::kernels::cuda
