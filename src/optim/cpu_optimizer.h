#pragma once

#include "device/memory.h"
#include "kernels/cpu/adamw.h"
#include "optim/optimizer.h"

namespace hone::optim {

class CpuOptimizer : public Optimizer {
 public:
  CpuOptimizer(nn::Parameters& parameters, std::vector<bool> trainable,
               const OptimizerOptions& options, const GradientMemory& memory = {});

  GradientArray gradient_array() const override;
  void set_gradients_set(const std::vector<bool>&) override {}
  bool gradient_is_finite(const Weight& weight) const override;
  void drop_gradients() override;
  Ticket start_step(double learning_rate, ThreadPool& pool, double loss_scale) override;
  StepReport report(const Ticket& ticket) override { return ticket.report; }
  double seconds() const override { return seconds_; }
  int64_t steps() const override { return steps_; }
  void set_steps(int64_t steps) override { steps_ = steps; }
  void* state(size_t kind, const Weight& weight) override {
    return part(state_[kind].as<std::byte>(), kind, weight);
  }
  const void* newest_state(size_t kind, const Weight& weight) const override {
    return part(state_[kind].as<std::byte>(), kind, weight);
  }

 protected:
  void copy_gradient(const Weight& weight, float* out) const override;
  void copy_touched(const Weight& weight, uint8_t* out) const override;
  void put_gradient(const Weight& weight, const float* data) override;
  void put_touched(const Weight& weight, uint8_t mark) override;

 private:
  float* gradient(const Weight& weight) const;
  void mark_tables();
  StepReport update(double learning_rate, ThreadPool& pool, double loss_scale);

  void apply(double learning_rate, const kernels::GradientUse& use, ThreadPool& pool);
  void apply_8bit(const kernels::AdamW& options, const kernels::GradientUse& use, ThreadPool& pool);
  void apply_adafactor(double learning_rate, const kernels::GradientUse& use, ThreadPool& pool);
  kernels::ParameterRanges ranges(size_t index) const;

  /// Ranges are apart by the array that their elements are counted in: in 8 bits those of fp32
  /// moments come first, then those of codes.
  std::vector<kernels::ParameterRange> ranges_[2];
  Buffer own_;  ///< holds the gradients where nobody else gave memory for them
  float* gradients_ = nullptr;
  std::vector<Buffer> state_;  ///< by kind
  Buffer scratch_;
  std::vector<uint8_t> marks_;  ///< one byte for each row of the trainable tables
  int64_t steps_ = 0;
  double seconds_ = 0;
};

}  // namespace hone::optim
