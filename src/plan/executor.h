#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "device/cuda.h"
#include "device/memory.h"
#include "plan/frame.h"
#include "plan/memory_plan.h"
#include "plan/run_sink.h"

namespace hone {

/// The memory that plans compute in. Plans that never run at one time may share one arena: what one
/// of them keeps is gone when another runs.
struct Arena {
  Buffer host;
  CudaBuffer device;
};

/// One array that holds the gradients of all weights.
struct GradientArray {
  void* data = nullptr;  ///< null: for bytes_for() alone
  size_t bytes = 0;
  std::vector<size_t> offsets = {};  ///< by slot, in bytes
};

struct RunnerOptions {
  GradientArrays gradients = {};
  std::shared_ptr<Arena> arena = {};  ///< null: one of its own
  /// Where false, values share no memory and steps run one by one, as they would without a plan.
  bool planned = true;
};

/// A value on its way from a device to the host, or there.
class Fetched {
 public:
  virtual ~Fetched() = default;
  /// Waits until the value is there. The memory is this object's.
  virtual const std::byte* data() = 0;
};

/// Runs one plan on one device: what a Runner asks of a backend.
class Executor {
 public:
  Executor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool, RunnerOptions options);
  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void lend(const GradientArray& gradients);
  void set_sink(RunSink* sink) { sink_ = sink; }
  virtual void resize(const Extents& extents) = 0;
  virtual void bind(Value input, const void* data) = 0;
  using Between = std::function<void(size_t cut)>;
  /// Runs all steps, in parts that end at the cuts; `between` is called behind each part but the
  /// last. It may return before the work is done.
  virtual void run(const std::vector<size_t>& cuts, const Between& between) = 0;
  virtual void run_range(size_t first, size_t last) = 0;
  virtual const Step* run_to_non_finite() = 0;
  virtual const void* read(Value value) = 0;
  virtual std::shared_ptr<Fetched> fetch(std::span<const Value> values) = 0;
  virtual void* address(Value value) const = 0;
  virtual void wait() = 0;
  virtual size_t arena_bytes() const = 0;
  virtual size_t bytes_for(const Extents& extents) const = 0;

  const Frame& frame() const { return frame_; }
  static void audit_all(bool on);

 protected:
  MemoryPlan lay_out(const Extents& extents) const;
  size_t workspace_for(const Extents& extents) const;
  /// Runs one step with the frame naming it.
  void run_step(const Step& step);
  /// Tells the sink of a step that ran.
  void tell(const Step& step, double begin, double seconds) const;
  size_t value_bytes(Value value, const Extents& extents) const;

  const Plan& plan_;
  LentMemory lent_;
  std::byte* lent_data_ = nullptr;
  std::shared_ptr<Arena> arena_;
  Frame frame_;
  bool planned_;
  bool audits_;
  RunSink* sink_ = nullptr;
};

/// Says whether all of `count` elements are finite; true for dtypes that hold no infinity.
bool all_finite(DType dtype, const void* data, int64_t count);

}  // namespace hone
