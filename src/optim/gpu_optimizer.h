#pragma once

#include <array>
#include <vector>

#include "device/cuda.h"
#include "kernels/cuda/api.h"
#include "optim/optimizer.h"

namespace hone::optim {

/// An Optimizer's state on the GPU. Gradients and moments lie as the parameters' arena does.
class GpuOptimizer {
 public:
  GpuOptimizer(nn::Parameters& parameters, const std::vector<bool>& trainable,
               const OptimizerOptions& options);

  const std::vector<void*>& gradients() const { return gradient_pointers_; }
  /// For a plan that sets gradients, between two steps: see Execution::lend().
  GradientArray gradient_array() const;
  /// By slot: gradients that the backward pass sets, so that a step need not make them 0.
  void set_gradients_set(const std::vector<bool>& slots);
  /// By slot, of tables: see kernels/cuda/optimizer.h.
  const std::vector<uint8_t*>& touched() const { return touched_; }
  bool gradient_is_finite(const Weight& weight) const;
  void drop_gradients();

  /// Starts a step behind what is on the stream; gives the turn by which report() knows it.
  size_t step(double learning_rate, double loss_scale);
  /// Waits for the step.
  StepReport report(size_t turn);
  /// Spent on steps that were waited for, by the device's clock.
  double seconds() const { return seconds_; }
  int64_t steps() const;
  void set_steps(int64_t steps);

  void fetch_moments();
  void send_moments();
  /// Null where the optimiser keeps none.
  float* first_moment(const Weight& weight) { return host_part(m_, host_m_, weight); }
  float* second_moment(const Weight& weight) { return host_part(v_, host_v_, weight); }

 private:
  void make_pieces();
  float* host_part(const CudaBuffer& array, Buffer& host, const Weight& weight);
  kernels::cuda::OptimizerState read_state() const;

  nn::Parameters& parameters_;
  std::vector<bool> trainable_;
  OptimizerOptions options_;
  std::vector<bool> set_;
  CudaBuffer gradients_, m_, v_;
  CudaBuffer flags_;  ///< of touched rows
  CudaBuffer pieces_, workspace_, state_;
  int64_t piece_count_ = 0;
  std::vector<void*> gradient_pointers_;
  std::vector<uint8_t*> touched_;
  Buffer host_m_, host_v_;
  /// What the host tells a step and hears of it, in turns: several may be on their way.
  struct Turn {
    CudaEvent begin, end;
  };
  std::array<Turn, Optimizer::kInFlight> turns_;
  PinnedBuffer settings_;
  PinnedBuffer reports_;
  size_t next_ = 0;
  double seconds_ = 0;
};

}  // namespace hone::optim
