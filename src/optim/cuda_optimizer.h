#pragma once

#include <array>
#include <vector>

#include "device/cuda.h"
#include "kernels/cuda/api.h"
#include "optim/optimizer.h"

namespace hone::optim {

/// Gradients and moments lie on the GPU as the parameters' arena does.
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
  float* first_moment(const Weight& weight) override { return host_part(m_, host_m_, weight); }
  float* second_moment(const Weight& weight) override { return host_part(v_, host_v_, weight); }
  const float* newest_first_moment(const Weight& weight) const override {
    return device_part(m_, weight);
  }
  const float* newest_second_moment(const Weight& weight) const override {
    return device_part(v_, weight);
  }
  void fetch_moments() override;
  void send_moments() override;

 protected:
  void copy_gradient(const Weight& weight, float* out) const override;
  void copy_touched(const Weight& weight, uint8_t* out) const override;
  void put_gradient(const Weight& weight, const float* data) override;
  void put_touched(const Weight& weight, uint8_t mark) override;

 private:
  void make_pieces();
  const float* device_part(const CudaBuffer& array, const Weight& weight) const;
  float* host_part(const CudaBuffer& array, Buffer& host, const Weight& weight);
  kernels::cuda::OptimizerState read_state() const;

  std::vector<bool> set_;
  CudaBuffer gradients_, m_, v_;
  CudaBuffer flags_;  ///< bytes of touched rows
  CudaBuffer pieces_, workspace_, state_;
  int64_t piece_count_ = 0;
  Buffer host_m_, host_v_;
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
