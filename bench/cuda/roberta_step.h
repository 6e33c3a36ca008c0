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
};

/// One kernel call, or several that belong together.
struct StepOp {
  const char* name = nullptr;  ///< null: the main stream waits for the side stream's mark `wait`
  bool side = false;           ///< may run beside what follows on the main stream
  double flops = 0;
  double bytes = 0;  ///< the least that moves through memory
  std::function<void(kernels::cuda::Stream)> run = {};
  int mark = -1;  ///< set by the last side op of a group
  int wait = -1;
};

class RobertaStep {
 public:
  RobertaStep(const StepShape& shape, CudaStream& stream);
  ~RobertaStep();

  const std::vector<StepOp>& ops() const;
  /// Puts the step on the stream; side ops on a second one, or with `serial` on the same.
  void play(bool serial);
  /// Only the calls of that name, on the main stream.
  void play_named(const std::string& name);
  /// Times cuBLASLt's algorithms for every shape of product.
  void tune();
  /// After a step: the loss, and the norm of the gradient.
  double loss();
  double grad_norm();
  std::vector<char> parameter_bytes();
  size_t device_bytes() const;

 private:
  std::unique_ptr<struct StepModel> model_;
};

}  // namespace hone::bench
