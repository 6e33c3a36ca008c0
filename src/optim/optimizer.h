#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "device/memory.h"
#include "kernels/cpu/adamw.h"
#include "nn/parameters.h"

namespace hone::optim {

enum class OptimizerKind { adamw, sgd };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0;  ///< of SGD
  double weight_decay = 0;
  double max_grad_norm = 1;  ///< 0: no clipping
};

struct StepReport {
  double grad_norm = 0;  ///< before clipping, without the loss scale
  bool skipped = false;  ///< a gradient was not finite: nothing was changed but the gradients, to 0
};

class GpuOptimizer;

/// Gradients and moments of the trainable slots of a parameter set in fp32, each one flat array of
/// slots laid out as the set has them; a step is one pass over all of them. Biases and norms are
/// not decayed, as Trainer groups them. The parameters must be allocated, in fp32, and outlive
/// this. Of parameters on a GPU all of it lies there.
class Optimizer {
 public:
  /// `trainable`: by slot.
  Optimizer(nn::Parameters& parameters, std::vector<bool> trainable,
            const OptimizerOptions& options);
  ~Optimizer();

  /// By slot, where a backward pass adds; null where a slot is frozen.
  const std::vector<void*>& gradients() const;
  /// Null where the parameters are not on one.
  GpuOptimizer* gpu() const { return gpu_.get(); }
  bool gradient_is_finite(const Weight& weight) const;
  /// Sets the gradients to 0.
  void drop_gradients();
  /// Clips, updates, sets the gradients to 0, and makes the changed slots' shadows anew.
  /// `loss_scale` is divided out first.
  StepReport step(double learning_rate, ThreadPool& pool, double loss_scale = 1);
  /// The same without the wait for a GPU; report() waits. At most kInFlight steps ago.
  struct Ticket {
    StepReport report;  ///< on a processor
    size_t turn = 0;    ///< on a GPU
  };
  Ticket start_step(double learning_rate, ThreadPool& pool, double loss_scale = 1);
  StepReport report(const Ticket& ticket);
  static constexpr size_t kInFlight = 32;

  int64_t steps() const;
  /// For checkpoints: together with the moments all that a step depends on.
  void set_steps(int64_t steps);
  /// Of a trainable slot, laid out as the slot; null where the optimiser keeps none. On a GPU they
  /// are copies, taken by fetch_moments() and given back by send_moments().
  float* first_moment(const Weight& weight);
  float* second_moment(const Weight& weight);
  void fetch_moments();
  void send_moments();
  const std::vector<bool>& trainable() const { return trainable_; }

 private:
  float* part(Buffer& array, const Weight& weight) const;

  nn::Parameters& parameters_;
  std::vector<bool> trainable_;
  OptimizerOptions options_;
  std::vector<kernels::ParameterRange> ranges_;
  std::vector<int64_t> offsets_;  ///< by slot, in the arrays
  Buffer gradients_;
  Buffer first_moment_;   ///< SGD's momentum
  Buffer second_moment_;  ///< AdamW alone
  Buffer scratch_;
  std::vector<void*> gradient_pointers_;
  int64_t steps_ = 0;
  std::unique_ptr<GpuOptimizer> gpu_;
};

}  // namespace hone::optim
