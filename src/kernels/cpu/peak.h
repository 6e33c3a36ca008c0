#pragma once

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Measures GFLOP/s of multiply-adds on registers alone, on all threads of the pool: what a product
/// of this instruction set and dtype could reach here and now. It takes some tens of milliseconds.
double measured_peak(Isa isa, DType dtype, ThreadPool& pool);

}  // namespace hone::kernels
