#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "nn/parameters.h"
#include "optim/state_layout.h"
#include "plan/runner.h"

namespace hone::optim {

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0;    ///< read by SGD
  bool nesterov = false;  ///< read by SGD with momentum
  double weight_decay = 0;
  double max_grad_norm = 1;  ///< 0: no clipping
};

struct StepReport {
  double grad_norm = 0;  ///< norm before clipping, without the loss scale
  bool skipped = false;  ///< a gradient was not finite: nothing was changed but the gradients, to 0
};

/// Gives zeroed memory for gradients, aligned as Buffers are, that outlives their optimiser: a
/// window that other ranks read, for one.
using GradientMemory = std::function<void*(size_t bytes)>;

/// Gradients of the trainable slots of a parameter set in fp32 and what the optimiser keeps beside
/// them, on the set's device; a step is one pass over all of them. Biases and norms are not
/// decayed, as Trainer groups them.
class Optimizer {
 public:
  /// `trainable` is by slot. The parameters must be allocated, in fp32, and outlive the optimiser.
  /// Where `memory` is not empty, gradients on the processor lie in what it gives.
  static std::unique_ptr<Optimizer> make(nn::Parameters& parameters, std::vector<bool> trainable,
                                         const OptimizerOptions& options,
                                         const GradientMemory& memory = {});
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::vector<bool>& trainable() const { return trainable_; }
  /// Gives, by slot, where a backward pass adds, and which rows of tables it has added to.
  GradientArrays gradients() const { return {gradient_pointers_, touched_}; }
  /// Gives all gradients as one array, which a plan that sets them may use until then
  /// (Runner::lend()).
  virtual GradientArray gradient_array() const = 0;
  /// Names, by slot, the gradients that the backward pass sets, so that a step need not make them
  /// 0.
  virtual void set_gradients_set(const std::vector<bool>& slots) = 0;
  virtual bool gradient_is_finite(const Weight& weight) const = 0;
  /// Sets the gradients to 0.
  virtual void drop_gradients() = 0;

  /// Clips, updates, sets the gradients to 0, and makes the changed slots' shadows anew.
  /// `loss_scale` is divided out first. Returns before the work is done where the device runs
  /// ahead; report() waits, at most kInFlight steps later.
  struct Ticket {
    StepReport report;  ///< the report, where the work is done already
    size_t turn = 0;
  };
  virtual Ticket start_step(double learning_rate, ThreadPool& pool, double loss_scale = 1) = 0;
  virtual StepReport report(const Ticket& ticket) = 0;
  StepReport step(double learning_rate, ThreadPool& pool, double loss_scale = 1) {
    return report(start_step(learning_rate, pool, loss_scale));
  }
  static constexpr size_t kInFlight = 32;
  /// Gives the seconds spent on steps that have been reported, by the device's clock.
  virtual double seconds() const = 0;

  virtual int64_t steps() const = 0;
  /// Sets the number of steps; together with the arrays of layout() it is all that a step depends
  /// on.
  virtual void set_steps(int64_t steps) = 0;
  const StateLayout& layout() const { return layout_; }
  /// Gives a slot's array of a kind of layout() on the host; null where it has none. Device copies
  /// are taken by fetch_state() and given back by send_state().
  virtual void* state(size_t kind, const Weight& weight) = 0;
  /// Gives where the array itself lies: in the device's memory where it has its own.
  virtual const void* newest_state(size_t kind, const Weight& weight) const = 0;
  virtual void fetch_state() {}
  virtual void send_state() {}

  /// Gives the gradient of a slot in the one order of elements that all machines share, row by row
  /// as the checkpoint's tensors have it, to exchange gradients. Rows of a table that no batch
  /// touched are 0. `out` has rows * width elements.
  void read_gradient(const Weight& weight, float* out) const;
  /// Sets (=) a slot's gradient from that order. Every row of a table counts as touched then.
  void write_gradient(const Weight& weight, const float* rows);
  /// Lists the rows of a table that have a gradient, rising; all rows of another slot.
  std::vector<int32_t> touched_rows(const Weight& weight) const;

 protected:
  Optimizer(nn::Parameters& parameters, std::vector<bool> trainable,
            const OptimizerOptions& options)
      : parameters_(parameters),
        trainable_(std::move(trainable)),
        options_(options),
        layout_(parameters, trainable_, options.kind, options.momentum) {}
  /// Gives a slot's part of the array of a kind, which begins at `array`; null where it has none.
  template <typename T>
  T* part(T* array, size_t kind, const Weight& weight) const {
    const StateLayout::Place& place = layout_.place(kind, weight);
    const auto size = static_cast<int64_t>(dtype_size(layout_.kinds()[kind].dtype));
    return place.count > 0 ? array + place.begin * size : nullptr;
  }
  /// Copies between a slot's arrays and the host, as they lie.
  virtual void copy_gradient(const Weight& weight, float* out) const = 0;
  virtual void copy_touched(const Weight& weight, uint8_t* out) const = 0;
  virtual void put_gradient(const Weight& weight, const float* data) = 0;
  virtual void put_touched(const Weight& weight, uint8_t mark) = 0;
  bool marks_rows(const Weight& weight) const {
    return touched_[static_cast<size_t>(weight.slot)] != nullptr;
  }
  const nn::Parameter& parameter(const Weight& weight) const {
    return parameters_.list()[static_cast<size_t>(weight.slot)];
  }

  nn::Parameters& parameters_;
  std::vector<bool> trainable_;
  OptimizerOptions options_;
  StateLayout layout_;
  std::vector<void*> gradient_pointers_;  ///< by slot; null where frozen
  std::vector<uint8_t*> touched_;         ///< by slot; null where rows are not told apart
};

}  // namespace hone::optim
