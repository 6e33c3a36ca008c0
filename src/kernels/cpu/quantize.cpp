#include "kernels/cpu/quantize.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantize.cpp"
#include <hwy/foreach_target.h>

#include <bit>

#include "kernels/cpu/quantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename T>
void QuantizeRows(const T* x, int64_t begin, int64_t end, const QuantizedRows& q) {
  for (int64_t i = begin; i < end; ++i) {
    QuantizeRow(x + i * q.width, q.width, q.row(i), &q.scale(i));
  }
}

/// Rounds up to 16 bits of precision.
float ShortScale(float scale) {
  const auto bits = std::bit_cast<uint32_t>(scale);
  return std::bit_cast<float>((bits + 0xffu) & ~0xffu);
}

float QuantizeSymmetric(const float* row, int64_t width, int8_t* q) {
  const hn::Rebind<int8_t, F32> d8;
  const int64_t lanes = kLanes;
  VF32 largest = hn::Zero(kF32);
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    largest = hn::Max(largest, hn::Abs(hn::LoadU(kF32, row + i)));
  }
  if (i < width) largest = hn::Max(largest, hn::Abs(LoadPart(row + i, width - i)));
  constexpr float kLeast = 1e-30f;  // below it 1 / scale is not finite
  const float most = hn::GetLane(hn::MaxOfLanes(kF32, largest));
  const float scale = most < kLeast ? 0.0f : ShortScale(most / 127.0f);
  const VF32 inverse = hn::Set(kF32, most < kLeast ? 0.0f : 1.0f / scale);
  const auto bytes = [&](VF32 v)
                         HWY_ATTR { return hn::DemoteTo(d8, hn::NearestInt(hn::Mul(v, inverse))); };
  for (i = 0; i + lanes <= width; i += lanes) {
    hn::StoreU(bytes(hn::LoadU(kF32, row + i)), d8, q + i);
  }
  if (i < width) {
    alignas(64) int8_t part[kLanes];
    hn::Store(bytes(LoadPart(row + i, width - i)), d8, part);
    std::memcpy(q + i, part, static_cast<size_t>(width - i));
  }
  return scale;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {

template <typename T>
void quantize_rows(const T* x, int64_t rows, const QuantizedRows& q, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(QuantizeRows<T>);
  for_row_ranges(rows, q.width, pool,
                 [&](int64_t begin, int64_t end) { kernel(x, begin, end, q); });
}

template void quantize_rows(const float*, int64_t, const QuantizedRows&, ThreadPool&);
template void quantize_rows(const bf16*, int64_t, const QuantizedRows&, ThreadPool&);

float quantize_symmetric(const float* row, int64_t width, int8_t* q) {
  return HONE_TARGET_FUNCTION(QuantizeSymmetric)(row, width, q);
}

}  // namespace hone::kernels
#endif
