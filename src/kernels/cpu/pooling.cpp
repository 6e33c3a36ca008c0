#include "kernels/cpu/pooling.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pooling.cpp"
#include <hwy/foreach_target.h>

#include <cmath>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <Pooling pooling>
HWY_INLINE VF32 Merge(VF32 sum, VF32 x) {
  if constexpr (pooling == Pooling::max) {
    // A NaN on either side stays, whichever operand the processor's maximum would keep.
    return hn::IfThenElse(hn::Or(hn::IsNaN(sum), hn::Lt(x, sum)), sum, x);
  }
  return hn::Add(sum, x);
}

/// y [width] from `rows` > 0 rows of x.
template <Pooling pooling, typename In>
void PoolRows(const In* x, int64_t rows, int64_t width, float* y) {
  const int64_t count = pooling == Pooling::first ? 1 : rows;
  const VF32 divisor = hn::Set(kF32, static_cast<float>(count));
  const int64_t lanes = kLanes;
  for (int64_t i = 0; i < width; i += lanes) {
    const size_t rest = width - i;
    const bool whole = rest >= kLanes;
    VF32 sum = whole ? LoadVector(x + i) : LoadPart(x + i, rest);
    for (int64_t row = 1; row < count; ++row) {
      const In* at = x + row * width + i;
      sum = Merge<pooling>(sum, whole ? LoadVector(at) : LoadPart(at, rest));
    }
    if constexpr (pooling == Pooling::mean) sum = hn::Div(sum, divisor);
    if (whole) {
      StoreVector(sum, y + i);
    } else {
      StorePart(sum, y + i, rest);
    }
  }
}

void L2NormalizeRow(const float* x, int64_t width, float* y) {
  const int64_t lanes = kLanes;
  VF32 sum = hn::Zero(kF32);
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const VF32 v = LoadVector(x + i);
    sum = hn::MulAdd(v, v, sum);
  }
  if (i < width) {
    const VF32 v = LoadPart(x + i, width - i);
    sum = hn::MulAdd(v, v, sum);
  }
  const float norm = std::sqrt(hn::GetLane(hn::SumOfLanes(kF32, sum)));
  const VF32 divisor = hn::Set(kF32, norm < 1e-12f ? 1e-12f : norm);
  for (i = 0; i + lanes <= width; i += lanes) {
    StoreVector(hn::Div(LoadVector(x + i), divisor), y + i);
  }
  if (i < width) StorePart(hn::Div(LoadPart(x + i, width - i), divisor), y + i, width - i);
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

template <typename In>
auto* row_pooler(Pooling pooling) {
  switch (pooling) {
    case Pooling::mean:
      return HONE_TARGET_FUNCTION(PoolRows<Pooling::mean, In>);
    case Pooling::max:
      return HONE_TARGET_FUNCTION(PoolRows<Pooling::max, In>);
    default:
      return HONE_TARGET_FUNCTION(PoolRows<Pooling::first, In>);
  }
}

}  // namespace

template <typename In>
void pool_sequences(Pooling pooling, const In* x, const int32_t* offsets, int64_t sequences,
                    int64_t width, float* y, ThreadPool& pool) {
  const auto kernel = row_pooler<In>(pooling);
  pool.run(sequences, [&](int64_t s, int) {
    const int64_t rows = offsets[s + 1] - offsets[s];
    if (rows > 0) {
      kernel(x + offsets[s] * width, rows, width, y + s * width);
    } else {
      std::fill_n(y + s * width, width, 0.0f);
    }
  });
}

void l2_normalize(const float* x, int64_t rows, int64_t width, float* y, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(L2NormalizeRow);
  for_row_ranges(rows, width, pool, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) kernel(x + i * width, width, y + i * width);
  });
}

template void pool_sequences(Pooling, const float*, const int32_t*, int64_t, int64_t, float*,
                             ThreadPool&);
template void pool_sequences(Pooling, const bf16*, const int32_t*, int64_t, int64_t, float*,
                             ThreadPool&);

}  // namespace hone::kernels
#endif
