#include "kernels/cpu/layer_norm.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/layer_norm-inl.h"
#include "kernels/cpu/quantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename In, typename Residual, typename Out>
void LayerNormRows(const In* x, const Residual* residual, const NormWeights& norm, int64_t begin,
                   int64_t end, int64_t width, Out* y, const NormStatistics& statistics) {
  for (int64_t i = begin; i < end; ++i) {
    const RowSum<In, Residual> row{x + i * width, residual ? residual + i * width : nullptr};
    NormalizeRow(row, width, norm, y + i * width, statistics, i);
  }
}

template <typename T, bool native>
void LayerNormQuantizedRows(const float* x, const T* residual, const NormWeights& norm,
                            int64_t begin, int64_t end, T* y, const QuantizedRows& q) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t at = i * q.width;
    const RowSum<float, T> row{x + at, residual ? residual + at : nullptr};
    NormalizeRow<native>(row, q.width, norm, y + at, {}, i);
    QuantizeRow(y + at, q.width, q.row(i), &q.scale(i));
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {

template <typename In, typename Residual, typename Out>
void layer_norm(const In* x, const Residual* residual, const NormWeights& norm, int64_t rows,
                int64_t width, Out* y, NormStatistics statistics, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(LayerNormRows<In, Residual, Out>);
  for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
    kernel(x, residual, norm, begin, end, width, y, statistics);
  });
}

template <typename T>
void layer_norm_quantized(const float* x, const T* residual, const NormWeights& norm, int64_t rows,
                          T* y, const QuantizedRows& q, ThreadPool& pool) {
  const auto kernel = chosen_isa() >= Isa::avx512_bf16
                          ? HONE_TARGET_FUNCTION(LayerNormQuantizedRows<T, true>)
                          : HONE_TARGET_FUNCTION(LayerNormQuantizedRows<T, false>);
  for_row_ranges(rows, q.width, pool,
                 [&](int64_t begin, int64_t end) { kernel(x, residual, norm, begin, end, y, q); });
}

template void layer_norm_quantized(const float*, const float*, const NormWeights&, int64_t, float*,
                                   const QuantizedRows&, ThreadPool&);
template void layer_norm_quantized(const float*, const bf16*, const NormWeights&, int64_t, bf16*,
                                   const QuantizedRows&, ThreadPool&);

template void layer_norm(const float*, const float*, const NormWeights&, int64_t, int64_t, float*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const float*, const float*, const NormWeights&, int64_t, int64_t, bf16*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const float*, const bf16*, const NormWeights&, int64_t, int64_t, float*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const float*, const bf16*, const NormWeights&, int64_t, int64_t, bf16*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const bf16*, const float*, const NormWeights&, int64_t, int64_t, float*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const bf16*, const float*, const NormWeights&, int64_t, int64_t, bf16*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const bf16*, const bf16*, const NormWeights&, int64_t, int64_t, float*,
                         NormStatistics, ThreadPool&);
template void layer_norm(const bf16*, const bf16*, const NormWeights&, int64_t, int64_t, bf16*,
                         NormStatistics, ThreadPool&);

}  // namespace hone::kernels
#endif
