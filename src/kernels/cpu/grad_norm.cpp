#include "kernels/cpu/grad_norm.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/grad_norm.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

using F64 = hn::RepartitionToWide<F32>;
using VF64 = hn::Vec<F64>;

HWY_INLINE void AddSquares(VF32 x, VF64& low, VF64& high) {
  const F64 d;
  const VF64 a = hn::PromoteTo(d, hn::LowerHalf(x));
  const VF64 b = hn::PromoteTo(d, hn::UpperHalf(hn::Half<F32>(), x));
  low = hn::MulAdd(a, a, low);
  high = hn::MulAdd(b, b, high);
}

double SquaresOf(const float* x, int64_t count) {
  const int64_t lanes = kLanes;
  VF64 sum0 = hn::Zero(F64()), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    AddSquares(LoadVector(x + i), sum0, sum1);
    AddSquares(LoadVector(x + i + lanes), sum2, sum3);
  }
  for (; i + lanes <= count; i += lanes) AddSquares(LoadVector(x + i), sum0, sum1);
  if (i < count) AddSquares(LoadPart(x + i, count - i), sum2, sum3);
  return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

namespace hone::kernels {
namespace {

constexpr int64_t kChunk = 32768;
int64_t chunks_of(int64_t count) { return (count + kChunk - 1) / kChunk; }

}  // namespace

size_t sum_of_squares_workspace(int64_t count) {
  return static_cast<size_t>(chunks_of(count)) * sizeof(double);
}

double sum_of_squares(const float* x, int64_t count, void* workspace, ThreadPool& pool) {
  const auto kernel = HONE_TARGET_FUNCTION(SquaresOf);
  auto* sums = static_cast<double*>(workspace);
  pool.run(chunks_of(count), [&](int64_t chunk, int) {
    const int64_t begin = chunk * kChunk;
    sums[chunk] = kernel(x + begin, std::min(kChunk, count - begin));
  });
  double total = 0;
  for (int64_t chunk = 0; chunk < chunks_of(count); ++chunk) total += sums[chunk];
  return total;
}

double clip_coefficient(double norm, double max_norm) {
  return max_norm > 0.0 ? std::min(1.0, max_norm / (norm + 1e-6)) : 1.0;
}

}  // namespace hone::kernels
#endif
