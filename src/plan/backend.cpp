#include "plan/backend.h"

#include "base/clock.h"
#include "plan/cpu_executor.h"
#include "plan/cuda_executor.h"

namespace hone {
namespace {

class CpuMarker : public Marker {
 public:
  void record() override { at_ = clock().seconds(); }
  void wait() override {}
  double seconds_since(const Marker& earlier) const override {
    return at_ - static_cast<const CpuMarker&>(earlier).at_;
  }

 private:
  static const Stopwatch& clock() {
    static const Stopwatch watch;
    return watch;
  }
  double at_ = 0;
};

class CpuBackend : public Backend {
 public:
  std::unique_ptr<Executor> executor(const Plan& plan, const WeightArrays& weights,
                                     ThreadPool& pool, RunnerOptions options) override {
    return std::make_unique<CpuExecutor>(plan, weights, pool, std::move(options));
  }
  std::unique_ptr<Marker> marker() override { return std::make_unique<CpuMarker>(); }
  void wait() override {}
  bool runs_ahead() const override { return false; }
  bool sets_gradients() const override { return false; }
  // A pass of this many rows reads each weight once for many of them, and the activations of a
  // layer stay in the cache.
  int64_t efficient_rows() const override { return 1024; }
};

class CudaMarker : public Marker {
 public:
  void record() override { event_.record(cuda_stream()); }
  void wait() override { event_.synchronize(); }
  double seconds_since(const Marker& earlier) const override {
    return 1e-3 * static_cast<double>(event_.since(static_cast<const CudaMarker&>(earlier).event_));
  }

 private:
  CudaEvent event_;
};

class CudaBackend : public Backend {
 public:
  std::unique_ptr<Executor> executor(const Plan& plan, const WeightArrays& weights,
                                     ThreadPool& pool, RunnerOptions options) override {
    return std::make_unique<CudaExecutor>(plan, weights, pool, std::move(options));
  }
  std::unique_ptr<Marker> marker() override { return std::make_unique<CudaMarker>(); }
  void wait() override { cuda_stream().synchronize(); }
  bool runs_ahead() const override { return true; }
  bool sets_gradients() const override { return true; }
  int64_t efficient_rows() const override { return 16384; }
};

}  // namespace

Backend& Backend::of(DeviceKind device) {
  static CpuBackend cpu;
  static CudaBackend cuda;
  if (device == DeviceKind::cuda) return cuda;
  return cpu;
}

}  // namespace hone
