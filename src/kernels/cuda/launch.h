#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda_api.h"
#include "tensor/dtype.h"

/// The headers of this folder declare the kernels of the CUDA plugin, which are called through the
/// table of api.h. Functions take device pointers, sizes and a stream, allocate nothing, and return
/// before the work is done. Values are stored as f32, bf16 or f16 (`dtype`), computed in fp32;
/// parameters of norms, statistics and parameter gradients are fp32. Two runs on one device give
/// the same bits.
namespace hone::kernels::cuda {

/// A Status is null where the kernels are on their way; otherwise it says what stood in the way, in
/// a static string.
using Status = CudaStatus;
using Stream = CudaHandle;

}  // namespace hone::kernels::cuda
