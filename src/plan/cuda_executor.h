#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda.h"
#include "plan/executor.h"

namespace hone {

/// Runs a plan on a GPU, on the process's stream. Inputs are gathered in pinned memory and sent in
/// one copy; two such blocks take turns, so that a batch is put together while the one before runs.
class CudaExecutor : public Executor {
 public:
  CudaExecutor(const Plan& plan, const WeightArrays& weights, ThreadPool& pool,
               RunnerOptions options);

  void resize(const Extents& extents) override;
  /// Copies the batch's rows and fills up to the bucket's; takes a resident value where it lies.
  void bind(Value input, const void* data) override;
  void run(const std::vector<size_t>& cuts, const Between& between) override;
  void run_range(size_t first, size_t last) override;
  const Step* run_to_non_finite() override;
  const void* read(Value value) override;
  std::shared_ptr<Fetched> fetch(std::span<const Value> values) override;
  void* address(Value value) const override {
    return bucket_->arrays[static_cast<size_t>(value.id)];
  }
  void wait() override { stream_.synchronize(); }
  size_t arena_bytes() const override { return arena_->device.size(); }
  size_t bytes_for(const Extents& extents) const override;

  /// Says whether the products of buckets to come are tuned before their first run.
  void tune(bool on) { tunes_ = on; }
  /// Sets tune() for all executors that are made from now on.
  static void tune_all(bool on);
  struct Counts {
    int64_t buckets = 0;
    int64_t graphs = 0;  ///< graphs that exist: those of a smaller arena are gone
    int64_t replays = 0;
    int64_t eager = 0;
    double capture_seconds = 0;  ///< includes the tuning of products
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Bucket {
    Extents extents;
    MemoryPlan memory;
    size_t workspace = 0;
    const void* arena = nullptr;  ///< the arena that `arrays` lie in
    std::vector<void*> arrays;    ///< by value
    std::vector<size_t> inputs;   ///< by value: offset in the block of inputs
    size_t input_bytes = 0;
    int64_t runs = 0;
    std::vector<CudaGraph> graphs;  ///< one for each part between cuts

    size_t bytes() const { return cuda_aligned(memory.bytes) + workspace; }  ///< bytes of the arena
  };
  struct Block {
    PinnedBuffer host;
    std::unique_ptr<CudaEvent> sent;  ///< happens when the copy to the device is done
    bool busy = false;
  };
  class Pinned;

  Bucket make_bucket(const Extents& extents) const;
  void place(Bucket& bucket);
  void drop_graphs(Bucket& bucket);
  void run_steps(size_t first, size_t last);
  /// Names the step, for messages about a kernel that fails.
  void name(const Step& step);
  void send_inputs();
  void tune_products();
  /// Runs step by step, in parts with these ends, and times each by the device's clock; launches
  /// that a graph would hide show where kernels are short.
  void run_told(const std::vector<size_t>& ends, const Between& between);
  void upload_constants();
  bool is_finite(Value value);

  CudaStream& stream_;
  CudaBuffer inputs_;
  CudaBuffer constants_;
  std::vector<void*> constant_at_;  ///< by value
  std::array<Block, 2> blocks_;
  size_t block_ = 0;
  PinnedBuffer output_;
  std::vector<std::shared_ptr<Pinned>> fetched_;  ///< used again when nobody else holds them
  std::map<Extents, Bucket> buckets_;
  Bucket* bucket_ = nullptr;
  Extents batch_;  ///< the batch's own sizes, not rounded
  bool tunes_ = false;
  Counts counts_;
};

}  // namespace hone
