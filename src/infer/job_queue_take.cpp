// A queue as workers see it.
#include <algorithm>
#include <limits>
#include <utility>

#include "infer/job_queue.h"

namespace hone::infer {
namespace {

// A worker looks at so many jobs between two batches, whether they are late or abandoned.
constexpr size_t kJobsToCheck = 256;
// A batch loses a tenth of its weight in the measured rate with each one that follows.
constexpr double kRateDecay = 0.9;

}  // namespace

Slice JobQueue::slice_off(const QueuedJobPtr& job, int64_t tokens, int64_t inputs) {
  Slice slice{.job = job, .first = job->taken};
  const auto most = std::min(job->answers.size() - job->taken, static_cast<size_t>(inputs));
  while (slice.count < most && slice.tokens < tokens) {
    slice.tokens += estimate(job->job, slice.first + slice.count++);
  }
  if (slice.first == 0) job->first_taken = Clock::now();
  job->taken += slice.count;
  job->waiting_tokens -= slice.tokens;
  const auto count = static_cast<int64_t>(slice.count);
  load_.inputs -= count;
  load_.tokens -= slice.tokens;
  load_.computing += count;
  load_.computing_tokens += slice.tokens;
  return slice;
}

std::vector<Slice> JobQueue::take_waiting(const Portion& portion) {
  std::vector<Slice> lot;
  int64_t tokens = std::max<int64_t>(portion.tokens, 1);
  int64_t inputs = portion.inputs > 0 ? portion.inputs : std::numeric_limits<int64_t>::max();
  while (!jobs_.empty() && tokens > 0 && inputs > 0) {
    const QueuedJobPtr job = jobs_.front();
    lot.push_back(slice_off(job, tokens, inputs));
    tokens -= lot.back().tokens;
    inputs -= static_cast<int64_t>(lot.back().count);
    if (job->taken == job->answers.size()) {
      leave(*job);
    } else {
      if (checked_ == job->place) ++checked_;
      jobs_.splice(jobs_.end(), jobs_, job->place);
    }
  }
  return lot;
}

std::vector<Slice> JobQueue::take(const Portion& portion, bool wait) {
  for (;;) {
    std::vector<Slice> lot;
    bool more = false;
    {
      std::unique_lock lock(mutex_);
      if (wait) asked_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
      lot = take_waiting(portion);
      more = !jobs_.empty();
    }
    if (lot.empty()) return lot;
    if (more) {
      asked_.notify_one();  // the one who was woken may leave something for another
      end_gone_jobs();
    }
    drop_gone_slices(lot);
    if (!lot.empty()) return lot;
  }
}

void JobQueue::end_gone_jobs() {
  std::vector<QueuedJobPtr> some;
  {
    const std::lock_guard lock(mutex_);
    if (watched_ == 0) return;
    const size_t count = std::min(jobs_.size(), kJobsToCheck);
    for (size_t i = 0; i < count; ++i) {
      if (checked_ == jobs_.end()) checked_ = jobs_.begin();
      if ((*checked_)->job.may_be_gone()) some.push_back(*checked_);
      ++checked_;
    }
  }
  const Clock::time_point now = Clock::now();
  for (const QueuedJobPtr& job : some) end_if_gone(*job, now);
}

void JobQueue::drop_gone_slices(std::vector<Slice>& lot) {
  const Clock::time_point now = Clock::now();
  std::erase_if(lot, [&](const Slice& slice) {
    if (!end_if_gone(*slice.job, now)) return false;
    release(static_cast<int64_t>(slice.count), slice.tokens);
    return true;
  });
}

bool JobQueue::end_if_gone(QueuedJob& job, Clock::time_point now) {
  if (now > job.job.deadline) {
    end(
        job, [] { return std::make_exception_ptr(JobLate()); }, &Counts::late);
    return true;
  }
  if (job.job.abandoned && job.job.abandoned()) {
    end(
        job, [] { return std::make_exception_ptr(JobAbandoned()); }, &Counts::abandoned);
    return true;
  }
  return false;
}

bool JobQueue::note_encoded(Slice& slice, int64_t tokens, double seconds) {
  const std::lock_guard lock(mutex_);
  load_.computing_tokens += tokens - std::exchange(slice.tokens, tokens);
  slice.job->tokenization += seconds;
  return !slice.job->ended;
}

void JobQueue::release(int64_t inputs, int64_t tokens) {
  const std::lock_guard lock(mutex_);
  load_.computing -= inputs;
  load_.computing_tokens -= tokens;
}

void JobQueue::release_answered(int64_t inputs, int64_t tokens, double seconds) {
  release(inputs, tokens);
  const std::lock_guard lock(mutex_);
  rate_.seconds = kRateDecay * rate_.seconds + seconds;
  rate_.inputs = kRateDecay * rate_.inputs + static_cast<double>(inputs);
  rate_.tokens = kRateDecay * rate_.tokens + static_cast<double>(tokens);
}

}  // namespace hone::infer
