#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch.h"
#include "data/sample_store.h"

namespace hone::data {

struct LoaderOptions {
  /// Picks those of a batch's samples that are to be packed. `number` counts the batches of this
  /// loader from 0. Calls come in that order, from any of its threads.
  using Cut = std::function<void(uint64_t number, std::vector<int64_t>& samples)>;

  int workers = 0;        ///< 0: batches are made in next()
  int batches_ahead = 2;  ///< batches made ahead by each worker
  DataPosition begin;     ///< position of the first batch
  int64_t end_epoch = 1;  ///< this one is not begun
  Cut cut = {};           ///< empty: all samples are packed

  /// Counts the batches that may be begun before they are asked for.
  int ahead() const { return workers * std::max(batches_ahead, 1); }
};

/// Storage for the samples that a batch is made of.
struct PackBuffers {
  std::vector<std::byte> sample;
  std::vector<std::byte> other;
};

/// Makes the batch of batch.samples, in the epoch of batch.begin: contents and labels. Where the
/// processor mixes samples, labels that are classes become targets: each class's share.
void pack(const SampleStore& store, const Processor& processor, PackBuffers& buffers, Batch& batch);

/// Batches in the sampler's order, made ahead by threads; the batches do not depend on the number
/// of threads.
class Loader {
 public:
  /// All arguments must outlive this. The processor is the one that the store was made with.
  Loader(const SampleStore& store, const Processor& processor, const Sampler& sampler,
         const LoaderOptions& options);
  ~Loader();  ///< may run at any time; batches under way are dropped
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Gives the next batch; false behind the last. What `batch` held is storage for later ones. A
  /// worker's exception is thrown in the place of its batch; the loader is of no use after it.
  bool next(Batch& batch);

  /// Gives the seconds spent in next() in all, waiting for a batch or making it.
  double waiting_seconds() const { return waiting_seconds_; }

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };

  void work();
  void begin_batch(Batch& batch);
  bool next_inline(Batch& batch);
  bool next_made(Batch& batch);
  bool ended() const { return cursor_.position().epoch >= end_epoch_; }
  void stop();

  const SampleStore& store_;
  const Processor& processor_;
  int64_t end_epoch_;
  LoaderOptions::Cut cut_;
  double waiting_seconds_ = 0;

  std::mutex mutex_;  ///< guards all members below; what a slot holds belongs to its worker until
                      ///< it is ready
  std::condition_variable made_;
  std::condition_variable taken_;
  BatchCursor cursor_;       ///< stands at the next batch to be begun
  uint64_t begun_ = 0;       ///< batches that the cursor has given
  std::vector<Slot> slots_;  ///< batch n is made in slot n % size
  uint64_t given_ = 0;       ///< batches that workers have begun
  uint64_t consumed_ = 0;    ///< batches that next() has handed out
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace hone::data
