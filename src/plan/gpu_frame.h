#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/api.h"

namespace hone {

/// What a step for a GPU sees beside its arrays.
struct GpuFrame {
  const kernels::cuda::KernelApi* api = nullptr;
  CudaHandle stream = nullptr;
  const char* step = "";               ///< the one that runs
  const std::string* scope = nullptr;  ///< the part of the model that it belongs to
  /// Products look for their fastest algorithms instead of running; what they write is not used.
  bool tuning = false;
  /// By slot, of embedding tables: a byte a row, 0 where its gradient is 0 whatever lies there; may
  /// be empty, or null.
  std::vector<uint8_t*> touched;

  /// Throws where a kernel did not start, naming the step.
  void check(kernels::cuda::Status status) const {
    if (status) cuda_failed(status);
  }

 private:
  [[noreturn]] void cuda_failed(kernels::cuda::Status status) const;
};

}  // namespace hone
