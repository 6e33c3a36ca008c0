#include "kernels/cpu/activation_backward.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation_backward-inl.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <Activation activation, typename T>
void ActivationBackwardRange(const T* dy, const T* z, int64_t count, T* dz, T* y) {
  const int64_t lanes = kLanes;
  VF32 value;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF32 slope = ActivationSlope<activation>(kF32, LoadVector(z + i), value);
    StoreVector(hn::Mul(LoadVector(dy + i), slope), dz + i);
    if (y) StoreVector(value, y + i);
  }
  if (i < count) {
    const size_t rest = count - i;
    const VF32 slope = ActivationSlope<activation>(kF32, LoadPart(z + i, rest), value);
    StorePart(hn::Mul(LoadPart(dy + i, rest), slope), dz + i, rest);
    if (y) StorePart(value, y + i, rest);
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/activation_f64.h"
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

template <Activation activation, typename T>
void run(const T* dy, const T* z, int64_t count, T* dz, T* y, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < count; ++i) {
      const ActivationF64 at = activation_f64(activation, z[i]);
      dz[i] = dy[i] * at.slope;
      if (y) y[i] = at.value;
    }
  } else {
    const auto range = HONE_TARGET_FUNCTION(ActivationBackwardRange<activation, T>);
    for_row_ranges(count, 1, pool, [&](int64_t begin, int64_t end) {
      range(dy + begin, z + begin, end - begin, dz + begin, y ? y + begin : nullptr);
    });
  }
}

}  // namespace

template <typename T>
void activation_backward(Activation activation, const T* dy, const T* z, int64_t count, T* dz, T* y,
                         ThreadPool& pool) {
  switch (activation) {
    case Activation::none:
      return run<Activation::none>(dy, z, count, dz, y, pool);
    case Activation::gelu:
      return run<Activation::gelu>(dy, z, count, dz, y, pool);
    case Activation::gelu_tanh:
      return run<Activation::gelu_tanh>(dy, z, count, dz, y, pool);
    case Activation::relu:
      return run<Activation::relu>(dy, z, count, dz, y, pool);
    case Activation::silu:
      return run<Activation::silu>(dy, z, count, dz, y, pool);
    case Activation::tanh:
      return run<Activation::tanh>(dy, z, count, dz, y, pool);
  }
}

template void activation_backward(Activation, const float*, const float*, int64_t, float*, float*,
                                  ThreadPool&);
template void activation_backward(Activation, const bf16*, const bf16*, int64_t, bf16*, bf16*,
                                  ThreadPool&);
template void activation_backward(Activation, const double*, const double*, int64_t, double*,
                                  double*, ThreadPool&);

}  // namespace hone::kernels
#endif
