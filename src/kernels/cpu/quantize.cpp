#include "kernels/cpu/quantize.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/quantize.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/quantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <typename T>
void QuantizeRows(const T* x, int64_t begin, int64_t end, int64_t width, uint8_t* q,
                  RowScale* scales) {
  for (int64_t i = begin; i < end; ++i)
    QuantizeRow(x + i * width, width, q + i * width, scales + i);
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
  const float scale = most < kLeast ? 0.0f : most / 127.0f;
  const VF32 inverse = hn::Set(kF32, most < kLeast ? 0.0f : 127.0f / most);
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
void quantize_rows(const T* x, int64_t rows, int64_t width, uint8_t* q, RowScale* scales,
                   ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(QuantizeRows<T>);
  for_row_ranges(rows, width, pool,
                 [&](int64_t begin, int64_t end) { kernel(x, begin, end, width, q, scales); });
}

template void quantize_rows(const float*, int64_t, int64_t, uint8_t*, RowScale*, ThreadPool&);
template void quantize_rows(const bf16*, int64_t, int64_t, uint8_t*, RowScale*, ThreadPool&);

float quantize_symmetric(const float* row, int64_t width, int8_t* q) {
  return HONE_TARGET_FUNCTION(QuantizeSymmetric)(row, width, q);
}

}  // namespace hone::kernels
#endif
