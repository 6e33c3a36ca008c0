#pragma once

#include "kernels/cpu/peak.h"

namespace hone::kernels {

/// A loop of products that stay in registers.
struct PeakLoop {
  float (*run)();
  double flops;  ///< what one run computes
};
/// Gives the loop of the products that gemm() takes.
PeakLoop peak_loop(Isa isa, DType dtype);

}  // namespace hone::kernels
