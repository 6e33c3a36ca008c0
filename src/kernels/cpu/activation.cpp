#include "kernels/cpu/activation.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

template <Activation activation, typename T>
void ActivateRange(const T* x, int64_t count, T* y) {
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StoreVector(Activate<activation>(kF32, LoadVector(x + i)), y + i);
  }
  if (i < count) {
    StorePart(Activate<activation>(kF32, LoadPart(x + i, count - i)), y + i, count - i);
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
void run(const T* x, int64_t count, T* y, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < count; ++i) y[i] = activation_f64(activation, x[i]).value;
  } else {
    const auto range = HONE_TARGET_FUNCTION(ActivateRange<activation, T>);
    for_row_ranges(count, 1, pool,
                   [&](int64_t begin, int64_t end) { range(x + begin, end - begin, y + begin); });
  }
}

}  // namespace

template <typename T>
void activate(Activation activation, const T* x, int64_t count, T* y, ThreadPool& pool) {
  switch (activation) {
    case Activation::none:
      return run<Activation::none>(x, count, y, pool);
    case Activation::gelu:
      return run<Activation::gelu>(x, count, y, pool);
    case Activation::gelu_tanh:
      return run<Activation::gelu_tanh>(x, count, y, pool);
    case Activation::relu:
      return run<Activation::relu>(x, count, y, pool);
    case Activation::silu:
      return run<Activation::silu>(x, count, y, pool);
    case Activation::tanh:
      return run<Activation::tanh>(x, count, y, pool);
  }
}

template void activate(Activation, const float*, int64_t, float*, ThreadPool&);
template void activate(Activation, const bf16*, int64_t, bf16*, ThreadPool&);
template void activate(Activation, const double*, int64_t, double*, ThreadPool&);

}  // namespace hone::kernels
#endif
