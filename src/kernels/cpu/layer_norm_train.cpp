#include "kernels/cpu/layer_norm_train.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm_train.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/dropout-inl.h"
#include "kernels/cpu/layer_norm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Writes row `index`'s xhat and rstd, and y where that is not null (all arrays begin at row 0).
template <class Row, typename T, typename Out>
HWY_INLINE void NormalizeTrainRow(const Row& row, int64_t index, int64_t width,
                                  const NormWeights& norm, const Normalized<T>& normalized,
                                  Out* y) {
  const float mean = RowMean(row, width);
  const float rstd = 1.0f / std::sqrt(RowVariance(row, width, mean) + norm.eps);
  normalized.rstd[index] = rstd;
  const VF32 centre = hn::Set(kF32, mean);
  const VF32 scale = hn::Set(kF32, rstd);
  T* xhat = normalized.xhat + index * width;
  if (y) y += index * width;
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    StoreVector(hn::Mul(hn::Sub(row.Load(i), centre), scale), xhat + i);
    if (y) {
      const VF32 x = LoadVector(xhat + i);
      const VF32 weight = hn::LoadU(kF32, norm.weight + i);
      StoreVector(hn::MulAdd(x, weight, hn::LoadU(kF32, norm.bias + i)), y + i);
    }
  }
  if (i < width) {
    const size_t rest = width - i;
    StorePart(hn::Mul(hn::Sub(row.LoadTail(i, rest), centre), scale), xhat + i, rest);
    if (y) {
      const VF32 x = LoadPart(xhat + i, rest);
      const VF32 weight = LoadPart(norm.weight + i, rest);
      StorePart(hn::MulAdd(x, weight, LoadPart(norm.bias + i, rest)), y + i, rest);
    }
  }
}

/// Computes one vector of dropout(x) + residual; `count` is what is left of the row.
template <typename In, typename Residual>
HWY_INLINE void DropVector(hn::Mask<F32> keep, VF32 scale, const In* x, const Residual* residual,
                           int64_t count, float* sum) {
  if (count <= 0) return;
  const bool whole = count >= static_cast<int64_t>(kLanes);
  VF32 v = whole ? LoadVector(x) : LoadPart(x, count);
  v = hn::IfThenElseZero(keep, hn::Mul(v, scale));
  if (residual) v = hn::Add(v, whole ? LoadVector(residual) : LoadPart(residual, count));
  if (whole) {
    StoreVector(v, sum);
  } else {
    StorePart(v, sum, count);
  }
}

template <typename In, typename Residual>
HWY_INLINE void DropAndAddRow(const DropoutRow& dropout, const In* x, const Residual* residual,
                              int64_t width, float* sum) {
  const VF32 scale = hn::Set(kF32, dropout.scale());
  for (int64_t c = 0; c < width; c += DropoutRow::kChannels) {
    const DropoutMasks keep = dropout.Keep(static_cast<uint32_t>(c));
    const int64_t next = c + kLanes;
    DropVector(keep.first, scale, x + c, residual ? residual + c : nullptr, width - c, sum + c);
    DropVector(keep.second, scale, x + next, residual ? residual + next : nullptr, width - next,
               sum + next);
  }
}

template <typename In, typename T, typename Out>
void LayerNormTrainRows(const In* x, const T* residual, const Dropout& dropout,
                        const NormWeights& norm, int64_t begin, int64_t end, int64_t width,
                        const Normalized<T>& normalized, Out* y, float* sum) {
  for (int64_t i = begin; i < end; ++i) {
    const In* from = x + i * width;
    const T* beside = residual ? residual + i * width : nullptr;
    if (dropout.p > 0.0f) {
      DropAndAddRow(DropoutRow(dropout, i), from, beside, width, sum);
      NormalizeTrainRow(RowSum<float>{sum}, i, width, norm, normalized, y);
    } else {
      NormalizeTrainRow(RowSum<In, T>{from, beside}, i, width, norm, normalized, y);
    }
  }
}

template <typename Table, typename T>
void EmbedTrainRows(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids, int64_t begin,
                    int64_t end, const NormWeights& norm, const Normalized<T>& normalized, T* y) {
  const int64_t width = tables.width;
  for (int64_t i = begin; i < end; ++i) {
    RowSum<Table> row{tables.word + ids.word[i] * width};
    if (tables.type) row.b = tables.type + (ids.type ? ids.type[i] : 0) * width;
    if (tables.position) row.c = tables.position + ids.position[i] * width;
    NormalizeTrainRow(row, i, width, norm, normalized, y);
  }
}

template <typename T, typename Out>
void NormAffineRows(const T* xhat, const NormWeights& norm, int64_t begin, int64_t end,
                    int64_t width, Out* y) {
  const int64_t lanes = kLanes;
  for (int64_t row = begin * width; row < end * width; row += width) {
    int64_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      const VF32 weight = LoadVector(norm.weight + i), bias = LoadVector(norm.bias + i);
      StoreVector(hn::MulAdd(LoadVector(xhat + row + i), weight, bias), y + row + i);
    }
    if (i < width) {
      const size_t rest = width - i;
      const VF32 weight = LoadPart(norm.weight + i, rest), bias = LoadPart(norm.bias + i, rest);
      StorePart(hn::MulAdd(LoadPart(xhat + row + i, rest), weight, bias), y + row + i, rest);
    }
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

int64_t padded(int64_t width) { return (width + 15) / 16 * 16; }

/// Normalises one row in double; `sum` is its s.
void normalize_f64(const std::vector<double>& sum, int64_t row, const NormWeightsOf<double>& norm,
                   Normalized<double> normalized, double* y) {
  const auto width = static_cast<int64_t>(sum.size());
  double mean = 0, variance = 0;
  for (const double s : sum) mean += s / static_cast<double>(width);
  for (const double s : sum) variance += (s - mean) * (s - mean) / static_cast<double>(width);
  const double rstd = 1 / std::sqrt(variance + double{norm.eps});
  normalized.rstd[row] = rstd;
  for (int64_t i = 0; i < width; ++i) {
    const double xhat = (sum[i] - mean) * rstd;
    normalized.xhat[row * width + i] = xhat;
    if (y) y[row * width + i] = xhat * norm.weight[i] + norm.bias[i];
  }
}

}  // namespace

size_t layer_norm_train_workspace(int64_t width, int threads) {
  return static_cast<size_t>(padded(width) * threads) * sizeof(float);
}

template <typename In, typename T, typename Out>
void layer_norm_train(const In* x, const T* residual, const Dropout& dropout,
                      const NormWeightsOf<Accumulator<T>>& norm, int64_t rows, int64_t width,
                      Normalized<T> normalized, Out* y, void* workspace, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    std::vector<double> sum(width);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t i = 0; i < width; ++i) {
        sum[i] =
            x[row * width + i] * double{dropout_factor(dropout, row, static_cast<uint32_t>(i))};
        if (residual) sum[i] += residual[row * width + i];
      }
      normalize_f64(sum, row, norm, normalized, y);
    }
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(LayerNormTrainRows<In, T, Out>);
    for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end, int worker) {
      kernel(x, residual, dropout, norm, begin, end, width, normalized, y,
             static_cast<float*>(workspace) + worker * padded(width));
    });
  }
}

template <typename T, typename Out>
void norm_affine(const T* xhat, const NormWeightsOf<Accumulator<T>>& norm, int64_t rows,
                 int64_t width, Out* y, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < rows * width; ++i) {
      y[i] = xhat[i] * norm.weight[i % width] + norm.bias[i % width];
    }
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(NormAffineRows<T, Out>);
    for_row_ranges(rows, width, pool,
                   [&](int64_t begin, int64_t end) { kernel(xhat, norm, begin, end, width, y); });
  }
}

template <typename Table, typename T>
void embed_and_normalize_train(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids,
                               int64_t tokens, const NormWeightsOf<Accumulator<T>>& norm,
                               Normalized<T> normalized, T* y, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    const int64_t width = tables.width;
    std::vector<double> sum(width);
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < width; ++i) {
        sum[i] = tables.word[ids.word[t] * width + i];
        if (tables.type) sum[i] += tables.type[(ids.type ? ids.type[t] : 0) * width + i];
        if (tables.position) sum[i] += tables.position[ids.position[t] * width + i];
      }
      normalize_f64(sum, t, norm, normalized, y);
    }
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(EmbedTrainRows<Table, T>);
    for_row_ranges(tokens, tables.width, pool, [&](int64_t begin, int64_t end) {
      kernel(tables, ids, begin, end, norm, normalized, y);
    });
  }
}

template void layer_norm_train(const float*, const float*, const Dropout&, const NormWeights&,
                               int64_t, int64_t, Normalized<float>, float*, void*, ThreadPool&);
template void layer_norm_train(const float*, const bf16*, const Dropout&, const NormWeights&,
                               int64_t, int64_t, Normalized<bf16>, float*, void*, ThreadPool&);
template void layer_norm_train(const float*, const bf16*, const Dropout&, const NormWeights&,
                               int64_t, int64_t, Normalized<bf16>, bf16*, void*, ThreadPool&);
template void layer_norm_train(const bf16*, const bf16*, const Dropout&, const NormWeights&,
                               int64_t, int64_t, Normalized<bf16>, float*, void*, ThreadPool&);
template void layer_norm_train(const bf16*, const bf16*, const Dropout&, const NormWeights&,
                               int64_t, int64_t, Normalized<bf16>, bf16*, void*, ThreadPool&);
template void layer_norm_train(const double*, const double*, const Dropout&,
                               const NormWeightsOf<double>&, int64_t, int64_t, Normalized<double>,
                               double*, void*, ThreadPool&);

template void norm_affine(const float*, const NormWeights&, int64_t, int64_t, float*, ThreadPool&);
template void norm_affine(const bf16*, const NormWeights&, int64_t, int64_t, float*, ThreadPool&);
template void norm_affine(const bf16*, const NormWeights&, int64_t, int64_t, bf16*, ThreadPool&);
template void norm_affine(const double*, const NormWeightsOf<double>&, int64_t, int64_t, double*,
                          ThreadPool&);

template void embed_and_normalize_train(const EmbeddingTables<float>&, const EmbeddingIds&, int64_t,
                                        const NormWeights&, Normalized<float>, float*, ThreadPool&);
template void embed_and_normalize_train(const EmbeddingTables<float>&, const EmbeddingIds&, int64_t,
                                        const NormWeights&, Normalized<bf16>, bf16*, ThreadPool&);
template void embed_and_normalize_train(const EmbeddingTables<bf16>&, const EmbeddingIds&, int64_t,
                                        const NormWeights&, Normalized<float>, float*, ThreadPool&);
template void embed_and_normalize_train(const EmbeddingTables<bf16>&, const EmbeddingIds&, int64_t,
                                        const NormWeights&, Normalized<bf16>, bf16*, ThreadPool&);
template void embed_and_normalize_train(const EmbeddingTables<double>&, const EmbeddingIds&,
                                        int64_t, const NormWeightsOf<double>&, Normalized<double>,
                                        double*, ThreadPool&);

}  // namespace hone::kernels
#endif
