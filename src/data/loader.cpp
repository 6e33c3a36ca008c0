#include "data/loader.h"

#include "base/clock.h"
#include "profile/recorder.h"

namespace hone::data {

void pack(const SampleStore& store, const Processor& processor, PackBuffers& buffers,
          Batch& batch) {
  batch.set_layout(processor.layout());
  const size_t count = batch.samples.size();
  const bool classes = store.problem() == ProblemType::single_label;
  const bool shares = classes && processor.mixes();
  const auto width = static_cast<size_t>(shares ? store.labels() : store.target_width());
  batch.classes.resize(classes && !shares ? count : 0);
  batch.targets.assign(count * width, 0);
  const Processor::OtherSamples others = {store.samples(), [&](int64_t number) {
                                            store.read(number, buffers.other);
                                            return std::span<const std::byte>(buffers.other);
                                          }};
  for (size_t i = 0; i < count; ++i) {
    const int64_t sample = batch.samples[i];
    store.read(sample, buffers.sample);
    const Processor::Mixed mixed =
        processor.append_for_training(buffers.sample, sample, others, batch);
    float* targets = batch.targets.data() + i * width;
    if (shares) {
      targets[store.class_of(sample)] += mixed.share;
      targets[store.class_of(mixed.other)] += 1 - mixed.share;
    } else if (classes) {
      batch.classes[i] = static_cast<int32_t>(store.class_of(sample));
    } else {
      store.targets_of(sample, targets);
    }
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
  PackBuffers buffers;
  std::unique_lock lock(mutex_);
  for (;;) {
    taken_.wait(lock, [this] { return stop_ || ended() || given_ < consumed_ + slots_.size(); });
    if (stop_ || ended()) return;
    Slot& slot = slots_[given_++ % slots_.size()];
    try {
      begin_batch(slot.batch);
      lock.unlock();
      const profile::Span span("packing a batch");
      pack(store_, processor_, buffers, slot.batch);
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
  PackBuffers buffers;
  pack(store_, processor_, buffers, batch);
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
