#include "data/loader.h"

#include "base/clock.h"

namespace hone::data {

Loader::Loader(const TokenStore& store, const Sampler& sampler, const LoaderOptions& options)
    : store_(store), end_epoch_(options.end_epoch), cursor_(sampler, options.begin) {
  slots_.resize(static_cast<size_t>(options.workers * std::max(options.batches_ahead, 1)));
  try {
    for (int i = 0; i < options.workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

Loader::~Loader() { stop(); }

void Loader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  taken_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Loader::begin_batch(PackedBatch& batch) {
  batch.begin = cursor_.position();
  cursor_.next(batch.samples);
  batch.end = cursor_.position();
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    taken_.wait(lock, [this] { return stop_ || ended() || given_ < consumed_ + slots_.size(); });
    if (stop_ || ended()) return;
    Slot& slot = slots_[given_++ % slots_.size()];
    try {
      begin_batch(slot.batch);
      lock.unlock();
      pack(store_, slot.batch);
    } catch (...) {
      slot.error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    slot.ready = true;
    made_.notify_one();
  }
}

bool Loader::next(PackedBatch& batch) {
  const Stopwatch watch;
  const bool found = workers_.empty() ? next_inline(batch) : next_made(batch);
  waiting_seconds_ += watch.seconds();
  return found;
}

bool Loader::next_inline(PackedBatch& batch) {
  if (ended()) return false;
  begin_batch(batch);
  pack(store_, batch);
  return true;
}

bool Loader::next_made(PackedBatch& batch) {
  std::unique_lock lock(mutex_);
  if (ended() && consumed_ == given_) return false;
  Slot& slot = slots_[consumed_ % slots_.size()];
  made_.wait(lock, [&] { return slot.ready; });
  if (slot.error) std::rethrow_exception(slot.error);
  std::swap(batch, slot.batch);
  slot.ready = false;
  ++consumed_;
  lock.unlock();
  taken_.notify_one();
  return true;
}

}  // namespace hone::data
