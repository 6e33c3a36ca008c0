#pragma once

#include <type_traits>

namespace hone::kernels {

/// The type in which values stored as T are computed, and that of the parameters, statistics and
/// parameter gradients beside them: fp32, or double for double, which gradient checks use.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace hone::kernels
