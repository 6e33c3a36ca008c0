#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda_api.h"
#include "tensor/dtype.h"

/// The kernels of the CUDA plugin, as plain declarations. They are called through the table of
/// api.h; functions take device pointers, sizes and a stream, allocate nothing, and return before
/// the work is done. Values are stored as f32, bf16 or f16 (`dtype`), computed in fp32; parameters
/// of norms, statistics and parameter gradients are fp32. Two runs on one device give the same
/// bits.
namespace hone::kernels::cuda {

/// Null: the kernels are on their way. Otherwise what stood in the way, in words; static.
using Status = CudaStatus;
using Stream = CudaHandle;

/// What a step draws from, in device memory and written before each replay.
struct RandomState {
  uint64_t seed;
  uint64_t step;
};

/// kernels/cpu/dropout.h, the same elements for the same seed, step and site; the key is computed
/// on the device.
struct Dropout {
  float p = 0.0f;  ///< 0: nothing below is read
  uint64_t site = 0;
  const RandomState* random = nullptr;
  const int64_t* samples = nullptr;    ///< [rows]
  const int32_t* positions = nullptr;  ///< [rows]
};

}  // namespace hone::kernels::cuda
