#pragma once

#include "base/thread_pool.h"
#include "device/cuda.h"
#include "device/memory.h"
#include "train/checkpoint_contents.h"

namespace hone::train {

/// A copy of a checkpoint's arrays in memory of its own, which steps do not change: on a processor
/// plain memory, for a GPU pinned memory. The memory is taken once and serves every checkpoint of a
/// run.
class CheckpointCopy {
 public:
  static uint64_t bytes_for(const CheckpointFiles& files, const nn::Parameters& parameters);

  /// Takes the memory and touches every page, so that the first copy is as fast as the others.
  /// Fails with kind memory where there is not enough. The arguments must outlive this.
  CheckpointCopy(const CheckpointFiles& files, const nn::Parameters& parameters, ThreadPool& pool);

  /// Copies the arrays at `newest`, with all threads of the pool; a GPU copies behind what is on
  /// its stream. All is there when this returns.
  void take(const ArrayPlaces& newest);
  /// Gives where the copies lie.
  const ArrayPlaces& places() const { return places_; }

 private:
  std::byte* memory() {
    return pinned_.size() > 0 ? pinned_.as<std::byte>() : plain_.as<std::byte>();
  }

  const CheckpointFiles& files_;
  const nn::Parameters& parameters_;
  ThreadPool& pool_;
  Buffer plain_;
  PinnedBuffer pinned_;
  ArrayPlaces places_;
};

}  // namespace hone::train
