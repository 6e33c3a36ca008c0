#include "data/loader.h"

#include "base/clock.h"
#include "profile/recorder.h"

namespace hone::data {

void pack(const SampleStore& store, const Processor& processor, std::vector<std::byte>& buffer,
          Batch& batch) {
  batch.set_layout(processor.layout());
  const size_t count = batch.samples.size();
  const bool classes = store.problem() == ProblemType::single_label;
  const auto width = static_cast<size_t>(store.target_width());
  batch.classes.resize(classes ? count : 0);
  batch.targets.resize(count * width);
  for (size_t i = 0; i < count; ++i) {
    const int64_t sample = batch.samples[i];
    store.read(sample, buffer);
    processor.append(buffer, sample, batch);
    if (classes) batch.classes[i] = static_cast<int32_t>(store.class_of(sample));
    store.targets_of(sample, batch.targets.data() + i * width);
  }
}

Loader::Loader(const SampleStore& store, const Processor& processor, const Sampler& sampler,
               const LoaderOptions& options)
    : store_(store),
      processor_(processor),
      end_epoch_(options.end_epoch),
      cut_(options.cut),
      cursor_(sampler, options.begin) {
  slots_.resize(static_cast<size_t>(options.ahead()));
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

void Loader::begin_batch(Batch& batch) {
  batch.begin = cursor_.position();
  cursor_.next(batch.samples);
  batch.end = cursor_.position();
  if (!cut_) return;
  batch.whole = batch.samples;
  cut_(begun_++, batch.samples);
}

void Loader::work() {
  std::vector<std::byte> buffer;
  std::unique_lock lock(mutex_);
  for (;;) {
    taken_.wait(lock, [this] { return stop_ || ended() || given_ < consumed_ + slots_.size(); });
    if (stop_ || ended()) return;
    Slot& slot = slots_[given_++ % slots_.size()];
    try {
      begin_batch(slot.batch);
      lock.unlock();
      const profile::Span span("packing a batch");
      pack(store_, processor_, buffer, slot.batch);
    } catch (...) {
      slot.error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    slot.ready = true;
    made_.notify_one();
  }
}

bool Loader::next(Batch& batch) {
  const Stopwatch watch;
  const bool found = workers_.empty() ? next_inline(batch) : next_made(batch);
  waiting_seconds_ += watch.seconds();
  return found;
}

bool Loader::next_inline(Batch& batch) {
  if (ended()) return false;
  begin_batch(batch);
  std::vector<std::byte> buffer;
  pack(store_, processor_, buffer, batch);
  return true;
}

bool Loader::next_made(Batch& batch) {
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
