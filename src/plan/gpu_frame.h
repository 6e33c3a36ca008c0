#pragma once

#include <string>

#include "kernels/cuda/api.h"

namespace hone {

/// Holds what a step for a GPU sees beside its arrays.
struct GpuFrame {
  const kernels::cuda::KernelApi* api = nullptr;
  CudaHandle stream = nullptr;
  const char* step = "";               ///< the running step
  const std::string* scope = nullptr;  ///< the part of the model that it belongs to
  /// Where true, products look for their fastest algorithms instead of running; what they write is
  /// not used.
  bool tuning = false;

  /// Throws where a kernel did not start, naming the step.
  void check(kernels::cuda::Status status) const {
    if (status) cuda_failed(status);
  }

 private:
  [[noreturn]] void cuda_failed(kernels::cuda::Status status) const;
};

}  // namespace hone
