#pragma once

#include "device/memory.h"
#include "nn/device_weights.h"

namespace hone::nn {

/// Plans of the processor read the set's own arrays, and packed shadows of matrices in bf16 or fp16
/// (held in fp32) for mixed precision.
class CpuWeights : public DeviceWeights {
 public:
  explicit CpuWeights(Parameters& parameters) : parameters_(parameters) {}

  WeightArrays arrays_for(DType dtype, const std::vector<bool>& slots, bool training) override;
  void refresh(ThreadPool& pool, const std::vector<bool>* changed) override;
  void refresh_host() override {}
  void release() override {}

 private:
  void add_shadows(DType dtype, const std::vector<bool>& slots);

  Parameters& parameters_;
  DType dtype_ = DType::f32;
  std::vector<bool> shadowed_;
  std::vector<const void*> pointers_;  ///< by slot: the shadow, or else the array itself
  Buffer shadows_;
};

}  // namespace hone::nn
