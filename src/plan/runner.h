#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/executor.h"

namespace hone {

class CudaExecutor;

/// A plan and what runs it on its device, over one arena that grows to the largest batch seen. Two
/// threads may not use it at once. Weights, gradients and the pool must outlive it.
///
/// A GPU runs sizes that are rounded up to a bucket, and a bucket that comes again is replayed as
/// one graph. start() then returns before the work is done, and what reads results waits for it.
class Runner {
 public:
  using Options = RunnerOptions;
  using Between = Executor::Between;

  Runner(std::shared_ptr<const Plan> plan, const WeightArrays& weights, ThreadPool& pool,
         Options options = {});
  /// The plan must outlive this.
  Runner(const Plan& plan, const WeightArrays& weights, ThreadPool& pool, Options options = {})
      : Runner(std::shared_ptr<const Plan>(std::shared_ptr<const Plan>(), &plan), weights, pool,
               std::move(options)) {}

  const Plan& plan() const { return *plan_; }

  /// Lends the gradients' memory: values may from now on lie where gradients are kept that the plan
  /// sets, until it does so. Between runs those places hold what the last run made of them; at a
  /// run's end all gradients are as without this. It is called before the first resize(); the array
  /// must outlive this. A runner without a memory plan takes no notice.
  void lend(const GradientArray& gradients) { executor_->lend(gradients); }
  /// Cuts the plan into parts that end before these steps, in rising order; graphs are cut there
  /// too. It is called before the first run.
  void set_cuts(std::vector<size_t> cuts) { cuts_ = std::move(cuts); }
  /// Tells `sink` of every step from now on; null: nobody hears of them. Steps then run one by one.
  void set_sink(RunSink* sink) { executor_->set_sink(sink); }

  /// Lays out memory for these extents; cheap where they are those of the last run.
  void resize(const Extents& extents) { executor_->resize(extents); }
  /// Binds an input. `data` must stay valid until the run has started; on a processor through the
  /// run.
  void bind(Value input, const void* data) { executor_->bind(input, data); }
  /// Starts a run. `between` is called behind each part but the last, with the cut's number.
  void start(const Between& between = {}) { executor_->run(cuts_, between); }
  /// Waits for what was started.
  void finish() { executor_->wait(); }
  void run() { start(); }
  /// Runs steps [first, last) of the plan alone; a run in parts is the same as a whole one.
  void run(size_t first, size_t last) { executor_->run_range(first, last); }
  /// Runs all steps, each followed by a look at what it wrote. Gives the first that wrote infinity
  /// or NaN, which ends the run; null where all is finite.
  const Step* run_to_non_finite() { return executor_->run_to_non_finite(); }

  /// Gives a value of the last run, on the host; waits for it. Valid until the next run.
  template <typename T>
  const T* output(Value value) const {
    return static_cast<const T*>(executor_->read(value));
  }
  /// Fetches values of the last run, one behind the other, that stay while later runs go on.
  std::shared_ptr<Fetched> fetch(std::span<const Value> values) { return executor_->fetch(values); }
  /// Gives where a value of the last run lies on the device.
  void* address(Value value) const { return executor_->address(value); }

  size_t arena_bytes() const { return executor_->arena_bytes(); }
  /// Gives the bytes that the arena would have to hold for these extents, on a GPU for their
  /// bucket; allocates nothing.
  size_t bytes_for(const Extents& extents) const { return executor_->bytes_for(extents); }

  /// Gives the executor of a plan for a GPU; null for others.
  CudaExecutor* cuda() const;
  /// Has runners that are made from now on check that steps touch only what they declare, as tests
  /// do.
  static void audit_all(bool on) { Executor::audit_all(on); }

 private:
  std::shared_ptr<const Plan> plan_;
  std::vector<size_t> cuts_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace hone
