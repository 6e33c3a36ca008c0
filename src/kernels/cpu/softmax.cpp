#include "kernels/cpu/softmax.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "kernels/cpu/convert-inl.h"
#include "kernels/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

void SoftmaxRow(const float* x, int64_t width, float* y) {
  const float largest = *std::max_element(x, x + width);
  const VF32 shift = hn::Set(kF32, largest);
  const int64_t lanes = kLanes;
  VF32 sum = hn::Zero(kF32);
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    const VF32 e = ExpNonPositive(kF32, hn::Sub(LoadVector(x + i), shift));
    StoreVector(e, y + i);
    sum = hn::Add(sum, e);
  }
  if (i < width) {
    const VF32 e = ExpNonPositive(kF32, hn::Sub(LoadPart(x + i, width - i), shift));
    StorePart(e, y + i, width - i);
    sum = hn::Add(sum, hn::IfThenElseZero(hn::FirstN(kF32, width - i), e));
  }
  const float total = hn::GetLane(hn::SumOfLanes(kF32, sum));
  for (i = 0; i < width; ++i) y[i] /= total;
}

void SigmoidRange(const float* x, int64_t count, float* y) {
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreVector(Sigmoid(kF32, LoadVector(x + i)), y + i);
  if (i < count) StorePart(Sigmoid(kF32, LoadPart(x + i, count - i)), y + i, count - i);
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

void softmax_rows(const float* x, int64_t rows, int64_t width, float* y) {
  if (width == 0) return;
  const auto kernel = HONE_TARGET_FUNCTION(SoftmaxRow);
  for (int64_t i = 0; i < rows; ++i) kernel(x + i * width, width, y + i * width);
}

void sigmoid(const float* x, int64_t count, float* y) {
  HONE_TARGET_FUNCTION(SigmoidRange)(x, count, y);
}

}  // namespace hone::kernels
#endif
