#pragma once

#include "device/memory.h"
#include "kernels/cpu/adamw.h"
#include "optim/optimizer.h"

namespace hone::optim {

/// Gradients and moments are flat arrays of the trainable slots, laid out as the set has them.
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
  float* first_moment(const Weight& weight) override { return part(first_moment_, weight); }
  float* second_moment(const Weight& weight) override { return part(second_moment_, weight); }
  const float* newest_first_moment(const Weight& weight) const override {
    return part(first_moment_, weight);
  }
  const float* newest_second_moment(const Weight& weight) const override {
    return part(second_moment_, weight);
  }

 protected:
  void copy_gradient(const Weight& weight, float* out) const override;
  void copy_touched(const Weight& weight, uint8_t* out) const override;
  void put_gradient(const Weight& weight, const float* data) override;
  void put_touched(const Weight& weight, uint8_t mark) override;

 private:
  float* part(const float* array, const Weight& weight) const;
  float* part(const Buffer& array, const Weight& weight) const {
    return part(array.as<float>(), weight);
  }
  void mark_tables();
  StepReport update(double learning_rate, ThreadPool& pool, double loss_scale);

  std::vector<kernels::ParameterRange> ranges_;
  std::vector<int64_t> offsets_;  ///< by slot, in the arrays
  Buffer own_;                    ///< holds the gradients where nobody else gave memory for them
  float* gradients_ = nullptr;
  int64_t count_ = 0;     ///< elements of the arrays
  Buffer first_moment_;   ///< SGD's momentum
  Buffer second_moment_;  ///< read by AdamW alone
  Buffer scratch_;
  std::vector<uint8_t> marks_;  ///< one byte for each row of the trainable tables
  int64_t steps_ = 0;
  double seconds_ = 0;
};

}  // namespace hone::optim
