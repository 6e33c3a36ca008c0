#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "device/cuda.h"
#include "device/memory.h"
#include "plan/gpu_frame.h"
#include "plan/memory_plan.h"
#include "plan/plan.h"

namespace hone {

/// Where a plan's weights lie, by slot. A slot that a plan reads in another dtype than it is kept
/// in has a shadow, else null; `shadows` may be empty. Shadows in fp8 have scales beside them. In
/// device memory for a plan of a GPU.
struct WeightArrays {
  WeightArrays() = default;
  WeightArrays(std::span<const void* const> own, std::span<const void* const> others = {},
               std::span<const float* const> of_rows = {})
      : stored(own), shadows(others), scales(of_rows) {}
  WeightArrays(const std::vector<const void*>& own) : stored(own) {}
  std::span<const void* const> stored;
  std::span<const void* const> shadows;
  std::span<const float* const> scales;
};

/// One array that holds the gradients of all weights.
struct GradientArray {
  void* data = nullptr;  ///< null: for bytes_for() alone
  size_t bytes = 0;
  std::vector<size_t> offsets = {};  ///< by slot, in bytes
};

/// What a step sees while it runs.
class Frame {
 public:
  template <typename T>
  T* data(Value value) const {
    return static_cast<T*>(arrays_[static_cast<size_t>(value.id)]);
  }
  int64_t rows(Value value) const { return extents_[value.rows]; }
  const void* weight(const Weight& weight) const {
    if (!weight.present()) return nullptr;
    const auto slot = static_cast<size_t>(weight.slot);
    const bool shadow =
        weight.dtype != DType::f32 && !weights_.shadows.empty() && weights_.shadows[slot];
    const void* start = (shadow ? weights_.shadows : weights_.stored)[slot];
    if (weight.offset == 0) return start;
    return static_cast<const std::byte*>(start) +
           static_cast<size_t>(weight.offset) * dtype_size(weight.dtype);
  }
  template <typename T>
  const T* weight(const Weight& slot) const {
    return static_cast<const T*>(weight(slot));
  }
  /// One a row, of a weight in fp8.
  const float* scales(const Weight& weight) const {
    return weights_.scales[static_cast<size_t>(weight.slot)] + weight.offset / weight.width;
  }
  /// Where a weight's gradient is added up; null where it is frozen, or nothing is trained.
  void* gradient(const Weight& weight) const {
    if (!weight.present() || gradients_.empty()) return nullptr;
    void* start = gradients_[static_cast<size_t>(weight.slot)];
    return start && weight.offset > 0 ? static_cast<float*>(start) + weight.offset : start;
  }
  void* workspace() const { return workspace_; }
  ThreadPool& pool() const { return *pool_; }
  const Extents& extents() const { return extents_; }
  /// Of a plan for a GPU alone.
  const GpuFrame& gpu() const { return gpu_; }

 private:
  friend class Execution;
  friend class GpuRunner;
  std::vector<void*> arrays_;
  WeightArrays weights_;
  std::span<void* const> gradients_;
  void* workspace_ = nullptr;
  ThreadPool* pool_ = nullptr;
  Extents extents_;
  GpuFrame gpu_;
};

class GpuRunner;

/// What plans compute in. Several that never run at one time may share one: what one keeps is gone
/// when another runs.
struct Arena {
  Buffer host;
  CudaBuffer device;
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
///
/// A plan for a GPU runs there, on the process's stream: sizes are rounded up to a bucket, and a
/// bucket that comes again is replayed as one graph. run() then returns before the work is done,
/// and output() waits for it.
class Execution {
 public:
  Execution(const Plan& plan, const WeightArrays& weights, ThreadPool& pool)
      : Execution(plan, weights, {}, pool) {}
  /// `gradients`: one a weight slot, null where it is frozen.
  Execution(const Plan& plan, const WeightArrays& weights, std::span<void* const> gradients,
            ThreadPool& pool, std::shared_ptr<Arena> arena = std::make_shared<Arena>());
  Execution(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
            std::shared_ptr<Arena> arena)
      : Execution(plan, weights, {}, pool, std::move(arena)) {}
  ~Execution();
  Execution(Execution&& other) noexcept;  ///< of a plan for the processor alone

  /// Values may from now on lie where gradients are kept that the plan sets, until it does so:
  /// between runs those hold what the last run made of them, at its end all are as without this.
  /// Before the first resize(); the array must outlive this.
  void lend(const GradientArray& gradients);

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
    return static_cast<const T*>(read(value));
  }
  /// Of a plan for a GPU; null for others.
  GpuRunner* gpu() { return gpu_.get(); }

  /// From now on every step is timed; a run then costs two clock reads a step.
  void time_ops(bool on) { timing_ = on; }
  const std::vector<OpTime>& op_times() const { return times_; }
  size_t arena_bytes() const;
  /// What the arena would have to hold for these extents, on a GPU for their bucket; allocates
  /// nothing.
  size_t bytes_for(const Extents& extents) const;

 private:
  friend class GpuRunner;
  const void* read(Value value) const;
  MemoryPlan lay_out(const Extents& extents) const;
  size_t workspace_for(const Extents& extents) const;
  void run_step(const Step& step);
  bool is_finite(Value value) const;
  void run_timed(const Step& step);
  void add_time(const Step& step, double seconds);

  const Plan& plan_;
  LentMemory lent_;
  std::byte* lent_data_ = nullptr;
  MemoryPlan memory_;
  std::shared_ptr<Arena> arena_;
  const void* laid_out_in_ = nullptr;
  size_t laid_out_bytes_ = 0;
  Frame frame_;
  bool laid_out_ = false;
  bool timing_ = false;
  std::vector<OpTime> times_;
  std::unique_ptr<GpuRunner> gpu_;
};

}  // namespace hone
