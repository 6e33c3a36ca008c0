#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "device/cuda.h"
#include "plan/execution.h"

namespace hone {

/// The part of an Execution that knows a GPU. Inputs are gathered in pinned memory and sent in one
/// copy; two such blocks take turns, so that a batch is put together while the one before runs.
class GpuRunner {
 public:
  explicit GpuRunner(Execution& execution);

  void resize(const Extents& extents);
  /// The bucket's.
  Extents rounded(const Extents& extents) const;
  /// Copies the batch's rows, and fills up to the bucket's; of a resident value, takes it where it
  /// lies.
  void bind(Value input, const void* data);
  /// `between` is called at the cut, where there is one, while the plan runs.
  void run(const std::function<void()>& between = {});
  /// Cuts the plan before that step.
  void cut(size_t step) { cut_ = step; }
  void set_touched(std::vector<uint8_t*> touched) { frame_.gpu_.touched = std::move(touched); }
  /// Of the last run; waits for it.
  const void* read(Value value);
  const Step* run_to_non_finite();
  size_t arena_bytes() const { return execution_.arena_->device.size(); }
  size_t bytes_for(const Extents& extents) const;

  /// Where a value of the bucket at hand lies on the device.
  void* address(Value value) const;
  /// Products of buckets to come are tuned before their first run.
  void tune(bool on) { tunes_ = on; }
  /// The same for all runners that are made from now on.
  static void tune_all(bool on);
  struct Counts {
    int64_t buckets = 0;
    int64_t graphs = 0;  ///< that are there: those of a smaller arena are gone
    int64_t replays = 0;
    int64_t eager = 0;
    double capture_seconds = 0;  ///< with the tuning of products
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Bucket {
    Extents extents;
    MemoryPlan memory;
    size_t workspace = 0;
    const void* arena = nullptr;  ///< that `arrays` lie in
    std::vector<void*> arrays;    ///< by value
    std::vector<size_t> inputs;   ///< by value: offset in the block of inputs
    size_t input_bytes = 0;
    int64_t runs = 0;
    std::vector<CudaGraph> graphs;  ///< of the parts

    size_t bytes() const { return cuda_aligned(memory.bytes) + workspace; }  ///< of the arena
  };
  struct Block {
    PinnedBuffer host;
    std::unique_ptr<CudaEvent> sent;  ///< the copy to the device is done
    bool busy = false;
  };

  Bucket make_bucket(const Extents& extents) const;
  void place(Bucket& bucket);
  void drop_graphs(Bucket& bucket);
  void run_steps(size_t first, size_t last);
  /// For messages about a kernel that fails.
  void name(const Step& step);
  void send_inputs();
  void tune_products();
  void run_timed();
  void upload_constants();
  bool is_finite(Value value);

  Execution& execution_;
  const Plan& plan_;
  Frame& frame_;
  CudaStream& stream_;
  CudaBuffer inputs_;
  CudaBuffer constants_;
  std::vector<void*> constant_at_;  ///< by value
  std::array<Block, 2> blocks_;
  size_t block_ = 0;
  PinnedBuffer output_;
  std::map<std::array<int64_t, 5>, Bucket> buckets_;
  Bucket* bucket_ = nullptr;
  Extents batch_;  ///< as it is, not rounded
  size_t cut_ = 0;
  bool tunes_ = false;
  Counts counts_;
};

}  // namespace hone
