#include <algorithm>

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/gemm_backward.h"
#include "kernels/cpu/gemm_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_backward_repack.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Rounds as Narrow() does and leaves the result in the upper halves; the lower ones are not
/// cleared.
HWY_INLINE hn::Vec<U32> RoundUpperHalf(VF32 value) {
  const U32 du;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
  const auto nan = hn::Or(bits, hn::Set(du, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), nan, rounded);
}

/// Repacks pairs [begin, end) of rows of k of one panel; what k has not is 0.
void RepackPairs(const float* panel, int64_t width, int64_t k, int64_t begin, int64_t end,
                 uint32_t* out) {
  const U32 du;
  const auto upper = hn::Set(du, 0xffff0000u);
  for (int64_t pair = begin; pair < end; ++pair) {
    const float* row = panel + 2 * pair * width;
    for (int64_t j = 0; j < width; j += kLanes) {
      const VF32 first = 2 * pair < k ? hn::Load(kF32, row + j) : hn::Zero(kF32);
      const VF32 second = 2 * pair + 1 < k ? hn::Load(kF32, row + width + j) : hn::Zero(kF32);
      const auto lower = hn::ShiftRight<16>(RoundUpperHalf(first));
      hn::Stream(hn::Or(lower, hn::And(RoundUpperHalf(second), upper)), du, out + pair * width + j);
    }
  }
  hwy::FlushStream();
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

void repack_bf16(const PackedMatrix& master, void* shadow, ThreadPool& pool) {
  constexpr int64_t kPairs = 256;  // pairs of a task: 64 KB in, 32 KB out
  const auto repack = HONE_TARGET_FUNCTION(RepackPairs);
  const int64_t width = panel_rows(master.isa);
  const int64_t pairs = packed_depth(DType::bf16, master.k) / 2;
  const int64_t parts = ceil_div(pairs, kPairs);
  pool.run(ceil_div(master.n, width) * parts, [&](int64_t task, int) {
    const int64_t panel = task / parts;
    const int64_t begin = task % parts * kPairs;
    repack(static_cast<const float*>(master.data) + panel * master.k * width, width, master.k,
           begin, std::min(pairs, begin + kPairs),
           static_cast<uint32_t*>(shadow) + panel * pairs * width);
  });
}

}  // namespace hone::kernels
#endif
