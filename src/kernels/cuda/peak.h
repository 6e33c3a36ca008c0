#pragma once

#include "tensor/dtype.h"

namespace hone::kernels::cuda {

/// Gives FLOP/s that the library's products of `dtype` reach on the device in use, measured once,
/// in a few milliseconds, on matrices of a size that suits it. 0 where there is no memory for them.
double measured_peak(DType dtype);

}  // namespace hone::kernels::cuda
