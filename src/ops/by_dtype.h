#pragma once

#include "base/error.h"
#include "plan/value.h"

namespace hone::ops {

/// Calls body with a value of the type that `dtype` is held in: fp32 or bf16.
template <typename Body>
void by_float(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
      return body(float{});
    case DType::bf16:
      return body(bf16{});
    default:
      fail(ErrorKind::internal, "no kernel for activations in {}", dtype_name(dtype));
  }
}

/// Calls body with a value of the type that `dtype` is held in: fp32, bf16, or fp64, in which
/// gradients are checked.
template <typename Body>
void by_dtype(DType dtype, const Body& body) {
  if (dtype == DType::f64) return body(double{});
  by_float(dtype, body);
}

/// Gives the dtype of sums, norms and gradients of weights beside activations of `dtype`.
inline DType accumulator_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

}  // namespace hone::ops
