#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "device/memory.h"
#include "plan/memory_plan.h"
#include "plan/plan.h"

namespace hone {

/// What a step sees while it runs.
class Frame {
 public:
  template <typename T>
  T* data(Value value) const {
    return static_cast<T*>(arrays_[static_cast<size_t>(value.id)]);
  }
  int64_t rows(Value value) const { return extents_[value.rows]; }
  const void* weight(const Weight& weight) const {
    return weight.present() ? weights_[static_cast<size_t>(weight.slot)] : nullptr;
  }
  template <typename T>
  const T* weight(const Weight& slot) const {
    return static_cast<const T*>(weight(slot));
  }
  /// Where a weight's gradient is added up; null where it is frozen, or nothing is trained.
  void* gradient(const Weight& weight) const {
    return weight.present() && !gradients_.empty() ? gradients_[static_cast<size_t>(weight.slot)]
                                                   : nullptr;
  }
  void* workspace() const { return workspace_; }
  ThreadPool& pool() const { return *pool_; }
  const Extents& extents() const { return extents_; }

 private:
  friend class Execution;
  std::vector<void*> arrays_;
  std::span<const void* const> weights_;
  std::span<void* const> gradients_;
  void* workspace_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Extents extents_;
};

/// Time spent under one op's name.
struct OpTime {
  std::string_view name;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0;
};

/// Runs a plan over one arena that grows to the largest batch seen. Not for two threads at once.
/// The plan, the weights, their gradients and the pool must outlive it.
class Execution {
 public:
  Execution(const Plan& plan, std::span<const void* const> weights, ThreadPool& pool)
      : Execution(plan, weights, {}, pool) {}
  /// `gradients`: one a weight slot, null where it is frozen.
  Execution(const Plan& plan, std::span<const void* const> weights,
            std::span<void* const> gradients, ThreadPool& pool);
  /// Several that never run at one time may share an arena; what one keeps is gone when another
  /// runs.
  Execution(const Plan& plan, std::span<const void* const> weights, ThreadPool& pool,
            std::shared_ptr<Buffer> arena);

  /// Lays out memory for these extents; cheap where they are those of the last run.
  void resize(const Extents& extents);
  /// `data` must stay valid through the run.
  void bind(Value input, const void* data);
  void run();
  /// Steps [first, last) of the plan alone; a run in parts is the same as a whole one.
  void run(size_t first, size_t last);
  /// Runs all steps, each followed by a look at what it wrote: the first that wrote infinity or
  /// NaN, which ends the run; null where all is finite.
  const Step* run_to_non_finite();
  template <typename T>
  const T* output(Value value) const {
    return frame_.data<const T>(value);
  }

  /// From now on every step is timed; a run then costs two clock reads a step.
  void time_ops(bool on) { timing_ = on; }
  const std::vector<OpTime>& op_times() const { return times_; }
  size_t arena_bytes() const { return arena_->size(); }
  /// What the arena would have to hold for these extents; allocates nothing.
  size_t bytes_for(const Extents& extents) const;

 private:
  MemoryPlan lay_out(const Extents& extents) const;
  size_t workspace_for(const Extents& extents) const;
  void run_step(const Step& step);
  bool is_finite(Value value) const;
  void run_timed(const Step& step);

  const Plan& plan_;
  MemoryPlan memory_;
  std::shared_ptr<Buffer> arena_;
  const void* laid_out_in_ = nullptr;
  Frame frame_;
  bool laid_out_ = false;
  bool timing_ = false;
  std::vector<OpTime> times_;
};

}  // namespace hone
