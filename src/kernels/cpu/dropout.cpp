#include "kernels/cpu/dropout.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dropout.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/cpu/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename T>
HWY_INLINE void DropPart(hn::Mask<F32> keep, VF32 scale, const T* x, int64_t count, T* y) {
  if (count >= static_cast<int64_t>(kLanes)) {
    StoreVector(hn::IfThenElseZero(keep, hn::Mul(LoadVector(x), scale)), y);
  } else if (count > 0) {
    StorePart(hn::IfThenElseZero(keep, hn::Mul(LoadPart(x, count), scale)), y, count);
  }
}

template <typename T>
void DropRows(const Dropout& dropout, const T* x, int64_t begin, int64_t end, int64_t width, T* y) {
  for (int64_t i = begin; i < end; ++i) {
    const DropoutRow row(dropout, i);
    const VF32 scale = hn::Set(kF32, row.scale());
    for (int64_t c = 0; c < width; c += DropoutRow::kChannels) {
      const DropoutMasks keep = row.Keep(static_cast<uint32_t>(c));
      const int64_t at = i * width + c, lanes = kLanes;
      DropPart(keep.first, scale, x + at, width - c, y + at);
      DropPart(keep.second, scale, x + at + lanes, width - c - lanes, y + at + lanes);
    }
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {

template <typename T>
void apply_dropout(const Dropout& dropout, const T* x, int64_t rows, int64_t width, T* y,
                   ThreadPool& pool) {
  if (dropout.p == 0.0f) {
    if (x != y) std::copy_n(x, rows * width, y);
    return;
  }
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < rows * width; ++i) {
      y[i] = x[i] * double{dropout_factor(dropout, i / width, static_cast<uint32_t>(i % width))};
    }
  } else {
    const auto kernel = HONE_TARGET_FUNCTION(DropRows<T>);
    for_row_ranges(rows, width, pool,
                   [&](int64_t begin, int64_t end) { kernel(dropout, x, begin, end, width, y); });
  }
}

template void apply_dropout(const Dropout&, const float*, int64_t, int64_t, float*, ThreadPool&);
template void apply_dropout(const Dropout&, const bf16*, int64_t, int64_t, bf16*, ThreadPool&);
template void apply_dropout(const Dropout&, const double*, int64_t, int64_t, double*, ThreadPool&);

}  // namespace hone::kernels
#endif
