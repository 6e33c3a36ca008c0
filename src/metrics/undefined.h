#pragma once

#include <limits>

namespace hone::metrics {

/// A metric has this value where its definition gives no number.
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

}  // namespace hone::metrics
