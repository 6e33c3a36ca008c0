#pragma once

#include "base/thread_pool.h"
#include "device/cpu_info.h"
#include "tensor/dtype.h"

namespace hone::train {

/// Gives kernels::measured_peak() in FLOP/s, measured once in a process for all its runs of one
/// kind: the measurement takes as long as a small model's first steps.
double processor_peak(Isa isa, DType dtype, ThreadPool& pool);

}  // namespace hone::train
