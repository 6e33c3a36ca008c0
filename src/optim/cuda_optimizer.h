#pragma once

#include <array>
#include <vector>

#include "device/cuda.h"
#include "kernels/cuda/api.h"
#include "optim/optimizer.h"

namespace hone::optim {

/// Gradients and what the optimiser keeps lie on the GPU.
class CudaOptimizer : public Optimizer {
 public:
  CudaOptimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                const OptimizerOptions& options);

  GradientArray gradient_array() const override;
  void set_gradients_set(const std::vector<bool>& slots) override;
  bool gradient_is_finite(const Weight& weight) const override;
  void drop_gradients() override;
  Ticket start_step(double learning_rate, ThreadPool& pool, double loss_scale) override;
  StepReport report(const Ticket& ticket) override;
  double seconds() const override { return seconds_; }
  int64_t steps() const override;
  void set_steps(int64_t steps) override;
  void* state(size_t kind, const Weight& weight) override;
  const void* newest_state(size_t kind, const Weight& weight) const override {
    return part(state_[kind].as<std::byte>(), kind, weight);
  }
  void fetch_state() override;
  void send_state() override;

 protected:
  void copy_gradient(const Weight& weight, float* out) const override;
  void copy_touched(const Weight& weight, uint8_t* out) const override;
  void put_gradient(const Weight& weight, const float* data) override;
  void put_touched(const Weight& weight, uint8_t mark) override;

 private:
  void make_pieces();
  bool is_quantized(const nn::Parameter& parameter) const;
  kernels::cuda::OptimizerArrays arrays();
  kernels::cuda::OptimizerState read_numbers() const;

  std::vector<bool> set_;
  CudaBuffer gradients_;
  std::vector<CudaBuffer> state_;  ///< by kind
  CudaBuffer flags_;               ///< bytes of touched rows
  CudaBuffer pieces_, workspace_, numbers_;
  int64_t piece_count_ = 0;
  std::vector<Buffer> host_;  ///< copies of state_
  /// Holds what the host tells a step and hears of it. Turns are used in rotation, so that several
  /// steps may be on their way.
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
