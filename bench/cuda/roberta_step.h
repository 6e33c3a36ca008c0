#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "kernels/cuda/api.h"

/// RoBERTa-base as a hand-made list of kernel calls: what the kernels come to in a whole step,
/// before any framework.
namespace hone::bench {

struct StepShape {
  std::string name;
  std::vector<int32_t> lengths;
  int64_t tokens = 0;  ///< rows of a bucket, at least the sum of the lengths
  bool training = true;
  bool library = false;  ///< few rows go through cuBLASLt too
};

/// One kernel call, or several that belong together.
struct StepOp {
  const char* name = nullptr;
  double flops = 0;
  double bytes = 0;  ///< the least that moves through memory
  std::function<void(kernels::cuda::Stream)> run = {};
};

class RobertaStep {
 public:
  RobertaStep(const StepShape& shape, CudaStream& stream);
  ~RobertaStep();

  const std::vector<StepOp>& ops() const;
  /// Puts the step on the stream. A second stream for the weights' products and the sums was tried:
  /// products of 512 tokens fill the card's shared memory, and forks in a graph cost more than ran
  /// beside them (2.75 against 2.69 ms).
  void play();
  /// Only the calls of that name.
  void play_named(const std::string& name);
  /// Times cuBLASLt's algorithms for every shape of product.
  void tune();
  /// After a step: the loss, and the norm of the gradient.
  double loss();
  double grad_norm();
  std::vector<float> logits();
  std::vector<char> parameter_bytes();
  size_t device_bytes() const;

 private:
  std::unique_ptr<struct StepModel> model_;
};

}  // namespace hone::bench
