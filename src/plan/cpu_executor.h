#pragma once

#include "base/clock.h"
#include "plan/executor.h"

namespace hone {

/// Runs a plan on the processor: a list of calls over one arena.
class CpuExecutor : public Executor {
 public:
  CpuExecutor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
              RunnerOptions options);

  void resize(const Extents& extents) override;
  void bind(Value input, const void* data) override;
  void run(const std::vector<size_t>& cuts, const Between& between) override;
  void run_range(size_t first, size_t last) override;
  const Step* run_to_non_finite() override;
  const void* read(Value value) override { return address(value); }
  std::shared_ptr<Fetched> fetch(std::span<const Value> values) override;
  void* address(Value value) const override {
    return frame_.arrays_[static_cast<size_t>(value.id)];
  }
  void wait() override {}
  size_t arena_bytes() const override { return arena_->host.size(); }
  size_t bytes_for(const Extents& extents) const override;

 private:
  void run_rounded(const Step& step);

  const void* laid_out_in_ = nullptr;
  size_t laid_out_bytes_ = 0;
  bool laid_out_ = false;
  Stopwatch watch_;  ///< measures from the begin of the run
};

}  // namespace hone
