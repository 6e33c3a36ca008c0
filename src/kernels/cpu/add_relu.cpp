#include "kernels/cpu/add_relu.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/add_relu.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

/// Calls body(i, load, store) for vectors of elements from i on; the last may be a part.
template <typename T, typename Body>
HWY_INLINE void EachVector(int64_t count, T* out, const Body& body) {
  const int64_t lanes = kLanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    StoreVector(body([i](const T* p) HWY_ATTR { return LoadVector(p + i); }), out + i);
  }
  if (i == count) return;
  const auto rest = static_cast<size_t>(count - i);
  StorePart(body([i, rest](const T* p) HWY_ATTR { return LoadPart(p + i, rest); }), out + i, rest);
}

template <typename T>
void AddRelu(const T* a, const T* b, int64_t count, T* y) {
  const VF32 zero = hn::Zero(kF32);
  if (!b) {
    return EachVector(count, y, [=](auto load) HWY_ATTR { return AtLeast(zero, load(a)); });
  }
  EachVector(count, y,
             [=](auto load) HWY_ATTR { return AtLeast(zero, hn::Add(load(a), load(b))); });
}

template <typename T>
void ReluBackward(const T* dy, const T* y, int64_t count, T* dx) {
  const VF32 zero = hn::Zero(kF32);
  EachVector(count, dx, [=](auto load) HWY_ATTR {
    return hn::IfThenElseZero(hn::Gt(load(y), zero), load(dy));
  });
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/cpu/rows.h"

namespace hone::kernels {

template <typename T>
void add_relu(const T* a, const T* b, int64_t count, T* y, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < count; ++i) {
      const double sum = a[i] + (b ? b[i] : 0);
      y[i] = sum < 0 ? 0 : sum;
    }
  } else {
    const auto run = HONE_TARGET_FUNCTION(AddRelu<T>);
    for_row_ranges(count, 1, pool, [&](int64_t begin, int64_t end) {
      run(a + begin, b ? b + begin : nullptr, end - begin, y + begin);
    });
  }
}

template <typename T>
void relu_backward(const T* dy, const T* y, int64_t count, T* dx, ThreadPool& pool) {
  if constexpr (std::is_same_v<T, double>) {
    for (int64_t i = 0; i < count; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
  } else {
    const auto run = HONE_TARGET_FUNCTION(ReluBackward<T>);
    for_row_ranges(count, 1, pool, [&](int64_t begin, int64_t end) {
      run(dy + begin, y + begin, end - begin, dx + begin);
    });
  }
}

template void add_relu(const float*, const float*, int64_t, float*, ThreadPool&);
template void add_relu(const bf16*, const bf16*, int64_t, bf16*, ThreadPool&);
template void add_relu(const double*, const double*, int64_t, double*, ThreadPool&);
template void relu_backward(const float*, const float*, int64_t, float*, ThreadPool&);
template void relu_backward(const bf16*, const bf16*, int64_t, bf16*, ThreadPool&);
template void relu_backward(const double*, const double*, int64_t, double*, ThreadPool&);

}  // namespace hone::kernels
#endif
