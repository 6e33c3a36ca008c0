#pragma once

#include <vector>

#include "device/cuda.h"
#include "plan/frame.h"

namespace hone::nn {

struct Parameter;
class Parameters;

/// A parameter set's arrays on the GPU: as they are kept, in fp32, and the shadows that plans read.
/// For training both lie as the set's arena does, element by element, so that an optimiser goes
/// over them in one pass. For inference a matrix or table with a shadow is there in that form
/// alone. A matrix in fp8 is there in that form alone: rows of bytes, and a scale each.
class CudaArrays {
 public:
  /// The set must be allocated.
  CudaArrays(const Parameters& parameters, DType dtype, const std::vector<bool>& shadows,
             bool training);

  /// Copies from the host's arena, and makes the shadows.
  void upload(const Parameters& parameters);
  /// Copies to the host's arena, in training alone.
  void download(void* arena);

  WeightArrays arrays() const { return {stored_, shadows_, scales_}; }
  bool covers(DType dtype, const std::vector<bool>& shadows, bool training) const;
  float* master() const { return master_.as<float>(); }
  /// Gives the shadows in one array; null where there are none.
  void* copies() const { return copies_.data(); }
  DType copy_dtype() const { return dtype_; }
  size_t bytes() const { return master_.size() + copies_.size() + fp8_.size(); }

 private:
  bool shadowed(const Parameter& parameter) const;
  /// Says whether a parameter is there in fp32.
  bool keeps(const Parameter& parameter) const;
  void place_fp8(const Parameters& parameters);

  DType dtype_;
  std::vector<bool> shadowed_;
  bool training_;
  CudaBuffer master_;
  CudaBuffer copies_;
  CudaBuffer fp8_;
  std::vector<const void*> stored_;
  std::vector<const void*> shadows_;
  std::vector<const float*> scales_;
};

}  // namespace hone::nn
