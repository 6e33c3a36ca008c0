#include "nn/device_weights.h"

#include "nn/cpu_weights.h"
#include "nn/cuda_weights.h"
#include "nn/parameters.h"

namespace hone::nn {

std::unique_ptr<DeviceWeights> DeviceWeights::make(Parameters& parameters) {
  if (parameters.on_gpu()) return std::make_unique<CudaWeights>(parameters);
  return std::make_unique<CpuWeights>(parameters);
}

}  // namespace hone::nn
