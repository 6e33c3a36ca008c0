#include "kernels/cpu/layer_norm_backward.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Calls body(i, count) over the row's vectors, then its tail: count is kLanes, then less.
template <class Body>
HWY_INLINE void ForVectors(int64_t width, const Body& body) {
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) body(i, std::true_type(), kLanes);
  if (i < width) body(i, std::false_type(), static_cast<size_t>(width - i));
}

template <bool whole, typename T>
HWY_INLINE VF32 LoadSome(const T* p, size_t count) {
  return whole ? LoadVector(p) : LoadPart(p, count);
}
template <bool whole, typename T>
HWY_INLINE void StoreSome(VF32 value, T* p, size_t count) {
  if constexpr (whole) {
    StoreVector(value, p);
  } else {
    StorePart(value, p, count);
  }
}

/// Holds what two passes over one row share.
struct NormSlopes {
  VF32 mean;     ///< mean of dy * weight
  VF32 product;  ///< mean of dy * weight * xhat
};

/// Computes a row's slopes, and adds dy * xhat to dweight and dy to dbias, where those are not
/// null.
template <typename Grad, typename T>
HWY_INLINE NormSlopes SumRow(const Grad* dy, const T* xhat, const float* weight, int64_t width,
                             float* dweight, float* dbias) {
  VF32 sum = hn::Zero(kF32), product = sum;
  ForVectors(width, [&](int64_t i, auto whole, size_t count) HWY_ATTR {
    const VF32 g = LoadSome<whole>(dy + i, count), x = LoadSome<whole>(xhat + i, count);
    const VF32 weighted = hn::Mul(g, LoadSome<whole>(weight + i, count));
    sum = hn::Add(sum, weighted);
    product = hn::MulAdd(weighted, x, product);
    if (dweight) {
      const VF32 before = LoadSome<whole>(dweight + i, count);
      StoreSome<whole>(hn::MulAdd(g, x, before), dweight + i, count);
    }
    if (dbias) StoreSome<whole>(hn::Add(LoadSome<whole>(dbias + i, count), g), dbias + i, count);
  });
  const VF32 share = hn::Set(kF32, 1.0f / static_cast<float>(width));
  return {hn::Mul(hn::SumOfLanes(kF32, sum), share), hn::Mul(hn::SumOfLanes(kF32, product), share)};
}

template <typename T>
struct NormRowBackward {
  const T* xhat;
  const float* weight;
  float rstd;
  NormSlopes slopes;

  template <bool whole, typename Grad>
  HWY_INLINE VF32 At(const Grad* dy, int64_t i, size_t count) const {
    const VF32 g = hn::Mul(LoadSome<whole>(dy + i, count), LoadSome<whole>(weight + i, count));
    const VF32 x = LoadSome<whole>(xhat + i, count);
    return hn::Mul(hn::NegMulAdd(x, slopes.product, hn::Sub(g, slopes.mean)), hn::Set(kF32, rstd));
  }
};

/// Computes one vector of the gradients of s and of x, `count` elements of which are left in the
/// row.
template <typename Grad, typename T>
HWY_INLINE void DropVectorBackward(const NormRowBackward<T>& row, hn::Mask<F32> keep, VF32 scale,
                                   const Grad* dy, int64_t i, int64_t count, T* ds, T* dx) {
  const auto store = [&](auto whole) HWY_ATTR {
    const VF32 value = row.template At<whole>(dy, i, count);
    StoreSome<whole>(value, ds + i, count);
    StoreSome<whole>(hn::IfThenElseZero(keep, hn::Mul(value, scale)), dx + i, count);
  };
  if (count >= static_cast<int64_t>(kLanes)) {
    store(std::true_type());
  } else if (count > 0) {
    store(std::false_type());
  }
}

template <typename Grad, typename T>
HWY_INLINE void DropRowBackward(const NormRowBackward<T>& row, const DropoutRow& dropout,
                                const Grad* dy, int64_t width, T* ds, T* dx) {
  const VF32 scale = hn::Set(kF32, dropout.scale());
  for (int64_t i = 0; i < width; i += DropoutRow::kChannels) {
    const DropoutMasks keep = dropout.Keep(static_cast<uint32_t>(i));
    const int64_t next = i + kLanes;
    DropVectorBackward(row, keep.first, scale, dy, i, width - i, ds, dx);
    DropVectorBackward(row, keep.second, scale, dy, next, width - next, ds, dx);
  }
}

template <typename Grad, typename T>
void LayerNormBackwardRows(const Grad* dy, const T* xhat, const float* rstd, const float* weight,
                           int64_t begin, int64_t end, int64_t width, const Dropout& dropout,
                           const NormGradients<T>& gradients) {
  for (int64_t row = begin; row < end; ++row) {
    const Grad* g = dy + row * width;
    const T* x = xhat + row * width;
    const NormRowBackward<T> backward{
        x, weight, rstd[row], SumRow(g, x, weight, width, gradients.weight, gradients.bias)};
    T* ds = gradients.sum + row * width;
    T* dx = gradients.x ? gradients.x + row * width : nullptr;
    if (dx && dropout.p > 0.0f) {
      DropRowBackward(backward, DropoutRow(dropout, row), g, width, ds, dx);
      continue;
    }
    ForVectors(width, [&](int64_t i, auto whole, size_t count) HWY_ATTR {
      const VF32 value = backward.template At<whole>(g, i, count);
      StoreSome<whole>(value, ds + i, count);
      if (dx) StoreSome<whole>(value, dx + i, count);
    });
  }
}

/// out [width] = (or +=) the sum of `rows` rows of x.
template <typename T, bool add>
void SumRows(const T* x, int64_t stride, int64_t rows, int64_t width, float* out) {
  ForVectors(width, [&](int64_t i, auto whole, size_t count) HWY_ATTR {
    VF32 sum = hn::Zero(kF32);
    for (int64_t row = 0; row < rows; ++row) {
      sum = hn::Add(sum, LoadSome<whole>(x + row * stride + i, count));
    }
    if (add) sum = hn::Add(LoadSome<whole>(out + i, count), sum);
    StoreSome<whole>(sum, out + i, count);
  });
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

namespace hone::kernels {
namespace {

/// Rows are summed up by at most this many chunks, then the chunks.
constexpr int64_t kChunks = 64;
int64_t chunk_rows(int64_t rows) { return std::max<int64_t>(8, (rows + kChunks - 1) / kChunks); }
int64_t chunks_of(int64_t rows) { return (rows + chunk_rows(rows) - 1) / chunk_rows(rows); }
/// A chunk's sums of one parameter begin on a line of their own.
int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }

/// out += the sum of the chunks' sums, in their order.
void add_chunks(const float* sums, int64_t stride, int64_t chunks, int64_t width, float* out,
                ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(SumRows<float, true>);
  constexpr int64_t kColumns = 256;
  pool.run((width + kColumns - 1) / kColumns, [&](int64_t task, int) {
    const int64_t column = task * kColumns;
    kernel(sums + column, stride, chunks, std::min(kColumns, width - column), out + column);
  });
}

void backward_f64(const double* dy, const double* xhat, const double* rstd, const double* weight,
                  int64_t rows, int64_t width, const Dropout& dropout,
                  NormGradients<double> gradients) {
  for (int64_t row = 0; row < rows; ++row) {
    const double* g = dy + row * width;
    const double* x = xhat + row * width;
    double mean = 0, product = 0;
    for (int64_t i = 0; i < width; ++i) {
      mean += g[i] * weight[i] / static_cast<double>(width);
      product += g[i] * weight[i] * x[i] / static_cast<double>(width);
      if (gradients.weight) gradients.weight[i] += g[i] * x[i];
      if (gradients.bias) gradients.bias[i] += g[i];
    }
    for (int64_t i = 0; i < width; ++i) {
      const double ds = rstd[row] * (g[i] * weight[i] - mean - x[i] * product);
      gradients.sum[row * width + i] = ds;
      if (gradients.x) {
        gradients.x[row * width + i] =
            ds * double{dropout_factor(dropout, row, static_cast<uint32_t>(i))};
      }
    }
  }
}

}  // namespace

size_t layer_norm_backward_workspace(int64_t rows, int64_t width) {
  return static_cast<size_t>(chunks_of(rows) * 2 * padded(width)) * sizeof(float);
}

template <typename Grad, typename T>
void layer_norm_backward(const Grad* dy, const T* xhat, const Accumulator<T>* rstd,
                         const Accumulator<T>* weight, int64_t rows, int64_t width,
                         const Dropout& dropout, NormGradients<T> gradients, void* workspace,
                         ThreadPool& pool) {
  if (rows == 0) return;
  if constexpr (std::is_same_v<T, double>) {
    backward_f64(dy, xhat, rstd, weight, rows, width, dropout, gradients);
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(LayerNormBackwardRows<Grad, T>);
    const int64_t chunk = chunk_rows(rows), chunks = chunks_of(rows), stride = 2 * padded(width);
    auto* sums = static_cast<float*>(workspace);
    pool.run(chunks, [&](int64_t task, int) {
      NormGradients<T> part = gradients;
      float* weights = sums + task * stride;
      if (part.weight) part.weight = weights;
      if (part.bias) part.bias = weights + padded(width);
      std::memset(weights, 0, stride * sizeof(float));
      kernel(dy, xhat, rstd, weight, task * chunk, std::min(rows, (task + 1) * chunk), width,
             dropout, part);
    });
    if (gradients.weight) add_chunks(sums, stride, chunks, width, gradients.weight, pool);
    if (gradients.bias)
      add_chunks(sums + padded(width), stride, chunks, width, gradients.bias, pool);
  }
}

template <typename T>
void add_column_sums(const T* x, int64_t stride, int64_t rows, int64_t width, Accumulator<T>* out,
                     void* workspace, ThreadPool& pool) {
  if (rows == 0) return;
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < width; ++i) out[i] += x[row * stride + i];
    }
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(SumRows<T, false>);
    const int64_t chunk = chunk_rows(rows), chunks = chunks_of(rows);
    auto* sums = static_cast<float*>(workspace);
    pool.run(chunks, [&](int64_t task, int) {
      const int64_t begin = task * chunk;
      kernel(x + begin * stride, stride, std::min(chunk, rows - begin), width,
             sums + task * padded(width));
    });
    add_chunks(sums, padded(width), chunks, width, out, pool);
  }
}

template void layer_norm_backward(const float*, const float*, const float*, const float*, int64_t,
                                  int64_t, const Dropout&, NormGradients<float>, void*,
                                  ThreadPool&);
template void layer_norm_backward(const bf16*, const bf16*, const float*, const float*, int64_t,
                                  int64_t, const Dropout&, NormGradients<bf16>, void*, ThreadPool&);
template void layer_norm_backward(const float*, const bf16*, const float*, const float*, int64_t,
                                  int64_t, const Dropout&, NormGradients<bf16>, void*, ThreadPool&);
template void layer_norm_backward(const double*, const double*, const double*, const double*,
                                  int64_t, int64_t, const Dropout&, NormGradients<double>, void*,
                                  ThreadPool&);
template void add_column_sums(const float*, int64_t, int64_t, int64_t, float*, void*, ThreadPool&);
template void add_column_sums(const bf16*, int64_t, int64_t, int64_t, float*, void*, ThreadPool&);
template void add_column_sums(const double*, int64_t, int64_t, int64_t, double*, void*,
                              ThreadPool&);

}  // namespace hone::kernels
#endif
