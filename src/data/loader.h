#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batches.h"

namespace hone::data {

struct LoaderOptions {
  int workers = 0;        ///< 0: batches are made in next()
  int batches_ahead = 2;  ///< for each worker
  DataPosition begin;     ///< of the first batch
  int64_t end_epoch = 1;  ///< this one is not begun
};

/// Batches in the sampler's order, made ahead by threads; the same for any number of them.
class Loader {
 public:
  /// `store` and `sampler` must outlive this.
  Loader(const TokenStore& store, const Sampler& sampler, const LoaderOptions& options);
  ~Loader();  ///< at any time; batches under way are dropped
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch; false behind the last. What `batch` held is storage for later ones. A
  /// worker's exception is thrown in the place of its batch; the loader is of no use after it.
  bool next(PackedBatch& batch);

  /// Spent in next() in all, waiting for a batch or making it.
  double waiting_seconds() const { return waiting_seconds_; }

 private:
  struct Slot {
    PackedBatch batch;
    std::exception_ptr error;
    bool ready = false;
  };

  void work();
  void begin_batch(PackedBatch& batch);
  bool next_inline(PackedBatch& batch);
  bool next_made(PackedBatch& batch);
  bool ended() const { return cursor_.position().epoch >= end_epoch_; }
  void stop();

  const TokenStore& store_;
  int64_t end_epoch_;
  double waiting_seconds_ = 0;

  std::mutex mutex_;  ///< of all below; what a slot holds belongs to its worker until it is ready
  std::condition_variable made_;
  std::condition_variable taken_;
  BatchCursor cursor_;       ///< at the next batch to be begun
  std::vector<Slot> slots_;  ///< batch n is made in slot n % size
  uint64_t given_ = 0;       ///< batches that workers have begun
  uint64_t consumed_ = 0;    ///< batches that next() has handed out
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace hone::data
