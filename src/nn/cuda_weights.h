#pragma once

#include "nn/cuda_arrays.h"
#include "nn/device_weights.h"

namespace hone::nn {

/// Plans of a GPU read copies there. While training changes them, the host's arrays are old.
class CudaWeights : public DeviceWeights {
 public:
  explicit CudaWeights(Parameters& parameters) : parameters_(parameters) {}

  WeightArrays arrays_for(DType dtype, const std::vector<bool>& slots, bool training) override;
  void refresh(ThreadPool& pool, const std::vector<bool>* changed) override;
  void refresh_host() override;
  void release() override { arrays_.reset(); }
  const void* changed(const Weight& weight) const override;

  /// Gives the arrays to an optimiser, which changes them.
  CudaArrays& changing() {
    host_is_old_ = true;
    return *arrays_;
  }

 private:
  Parameters& parameters_;
  std::unique_ptr<CudaArrays> arrays_;
  bool host_is_old_ = false;
};

}  // namespace hone::nn
