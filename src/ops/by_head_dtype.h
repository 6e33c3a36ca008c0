#pragma once

#include "base/error.h"
#include "plan/value.h"

namespace hone::ops {

/// Calls body with a value of the type that heads compute in: fp32, or fp64, in which gradients are
/// checked.
template <typename Body>
void by_head_dtype(DType dtype, const Body& body) {
  if (dtype == DType::f64) return body(double{});
  if (held_in(dtype) != DType::f32) fail(ErrorKind::internal, "a head in {}", dtype_name(dtype));
  body(float{});
}

}  // namespace hone::ops
