#include "base/read_ahead.h"

#include <signal.h>

#include <algorithm>
#include <system_error>

#include "base/page_cache.h"

namespace hone {

ReadAhead::ReadAhead(const InputFile& file) : file_(file) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// Starts the thread with all signals blocked, so that they go to threads of the caller's.
bool ReadAhead::start() {
  if (started_) return thread_.joinable();
  started_ = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // no thread to be had
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

uint64_t ReadAhead::want(uint64_t offset, uint64_t bytes) {
  if (!start()) return 0;
  const std::lock_guard lock(mutex_);
  parts_.push_back({offset, bytes});
  asked_.notify_one();
  return ++wanted_;
}

bool ReadAhead::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= number; });
  return number > 0 && missed_.erase(number) == 0;
}

bool ReadAhead::next(Part& part) {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [&] { return stop_ || !parts_.empty(); });
  if (stop_) return false;
  part = parts_.front();
  parts_.pop_front();
  return true;
}

void ReadAhead::finish(bool whole) {
  const std::lock_guard lock(mutex_);
  ++finished_;
  if (!whole) missed_.insert(finished_);
  done_.notify_all();
}

bool ReadAhead::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void ReadAhead::work() {
  for (Part part{}; next(part);) {
    uint64_t at = part.offset;
    const uint64_t end = part.offset + part.bytes;
    bool whole = true;
    while (at < end && !stopped()) {
      const uint64_t step = std::min(kHugePage - at % kHugePage, end - at);
      whole &= bring_to_cache(file_, at, step);
      at += step;
    }
    finish(whole && at >= end);
  }
}

}  // namespace hone
