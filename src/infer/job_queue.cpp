#include "infer/job_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "profile/recorder.h"

namespace hone::infer {
namespace {

// A token has about this many bytes of text, a guess by which inputs are taken and counted before
// they are encoded.
constexpr int64_t kBytesPerToken = 4;
constexpr int64_t kSpecialTokens = 2;
// Clients are told to wait so many seconds for room while no batch has been measured.
constexpr double kUnknownWait = 1;

/// Shares nothing with the original, not even its message.
std::exception_ptr copy_of(const Error& error) {
  return std::make_exception_ptr(Error(error.kind(), error.what()));
}

constexpr auto kUnserved = [] { return std::make_exception_ptr(JobUnserved()); };

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void JobQueue::set_limits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

int64_t JobQueue::estimate(const Job& job, size_t input) const {
  int64_t tokens = 0;
  if (!job.ids.empty()) {
    tokens = std::ssize(job.ids[input]);
  } else {
    const Input& text = job.inputs[input];
    const int64_t bytes = std::ssize(text.text) + (text.pair ? std::ssize(*text.pair) : 0);
    tokens = kSpecialTokens + bytes / kBytesPerToken;
  }
  return limits_.max_length > 0 ? std::min(tokens, limits_.max_length) : tokens;
}

QueuedJobPtr JobQueue::make(Job job) const {
  auto made = std::make_shared<QueuedJob>();
  made->job = std::move(job);
  made->submitted = Clock::now();
  const size_t size = made->job.size();
  made->answers.resize(size);
  made->unanswered = size;
  for (size_t i = 0; i < size; ++i) made->waiting_tokens += estimate(made->job, i);
  return made;
}

bool JobQueue::has_room(const QueuedJob& job) const {
  const int64_t inputs = load_.inputs + load_.computing;
  if (inputs == 0) return true;
  const int64_t all_inputs = inputs + std::ssize(job.answers);
  const int64_t all_tokens = load_.tokens + load_.computing_tokens + job.waiting_tokens;
  return (limits_.inputs <= 0 || all_inputs <= limits_.inputs) &&
         (limits_.tokens <= 0 || all_tokens <= limits_.tokens) &&
         (limits_.seconds <= 0 || all_inputs <= limits_.any_time ||
          seconds_for(all_tokens) <= limits_.seconds);
}

double JobQueue::seconds_for(int64_t tokens) const {
  if (rate_.seconds <= 0) return 0;
  const double measured = static_cast<double>(tokens) * rate_.seconds / std::max(rate_.tokens, 1.0);
  return measured / std::max(load_.workers, 1);
}

double JobQueue::seconds_until_room(const QueuedJob& job) const {
  if (rate_.seconds <= 0) return kUnknownWait;
  const auto wait = [&](int64_t held, int64_t wanted, int64_t limit, double done) {
    if (limit <= 0) return 0.0;
    // A job that is larger than the limit needs all of it.
    const int64_t over = held + std::min(wanted, limit) - limit;
    return static_cast<double>(over) * rate_.seconds / done;
  };
  const double inputs =
      wait(load_.inputs + load_.computing, std::ssize(job.answers), limits_.inputs, rate_.inputs);
  const int64_t held = load_.tokens + load_.computing_tokens;
  const double tokens = wait(held, job.waiting_tokens, limits_.tokens, rate_.tokens);
  const double room = std::max({inputs, tokens, 0.0}) / std::max(load_.workers, 1);
  if (limits_.seconds <= 0) return room;
  return std::max(room, seconds_for(held + job.waiting_tokens) - limits_.seconds);
}

JobQueue::Admission JobQueue::admit(const QueuedJobPtr& job, bool first) {
  const std::lock_guard lock(mutex_);
  if (closed_) fail(ErrorKind::usage, "the model was closed");
  if (!first && !unserved_ && !has_room(*job)) {
    ++counts_.refused;
    return {false, seconds_until_room(*job)};
  }
  counts_.accepted += job->counted;
  if (unserved_ || job->answers.empty()) return {true};
  job->place = jobs_.insert(first ? jobs_.begin() : jobs_.end(), job);
  job->waits = true;
  watched_ += job->job.may_be_gone();
  load_.inputs += std::ssize(job->answers);
  load_.tokens += job->waiting_tokens;
  return {true};
}

JobQueue::Admission JobQueue::submit(Job job) {
  const QueuedJobPtr queued = make(std::move(job));
  const bool empty = queued->answers.empty();
  const Admission admission = admit(queued, false);  // a worker may have it from now on
  if (!admission.accepted) return admission;
  asked_.notify_one();
  if (empty) finish(*queued);
  if (unserved_) end(*queued, kUnserved, &Counts::failed);
  return admission;
}

void JobQueue::submit_first(Job job) {
  const QueuedJobPtr queued = make(std::move(job));
  queued->counted = false;
  admit(queued, true);
  asked_.notify_one();
  if (unserved_) end(*queued, kUnserved, &Counts::failed);
}

void JobQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  asked_.notify_all();
}

void JobQueue::stop(const Error& error) {
  close();
  end_waiting([&] { return copy_of(error); });
}

JobQueue::Load JobQueue::load() const {
  const std::lock_guard lock(mutex_);
  return load_;
}

JobQueue::Counts JobQueue::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void JobQueue::leave(QueuedJob& job) {
  if (!std::exchange(job.waits, false)) return;
  if (checked_ == job.place) ++checked_;
  jobs_.erase(job.place);
  watched_ -= job.job.may_be_gone();
  load_.inputs -= std::ssize(job.answers) - static_cast<int64_t>(job.taken);
  load_.tokens -= std::exchange(job.waiting_tokens, 0);
}

void JobQueue::finish(QueuedJob& job) {
  end(
      job, [] { return std::exception_ptr(); }, &Counts::answered);
}

void JobQueue::refuse(QueuedJob& job, const Error& error) {
  end(
      job, [&] { return copy_of(error); }, &Counts::failed);
}

void JobQueue::end(QueuedJob& job, MakeError make_error, Counter counter) {
  JobResult result;
  const Clock::time_point now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(job.ended, true)) return;
    leave(job);
    if (job.counted) ++(counts_.*counter);
    const double total = seconds_between(job.submitted, now);
    result.times.queue = job.taken > 0 ? seconds_between(job.submitted, job.first_taken) : total;
    result.times.tokenization = job.tokenization;
    result.times.inference = std::max(0.0, total - result.times.queue - result.times.tokenization);
  }
  if (profile::Recorder* recorder = profile::active()) {
    recorder->add_fact("requests", 1);
    recorder->add_fact("queue_s", result.times.queue);
  }
  result.error = make_error();
  if (!result.error) result.answers = std::move(job.answers);
  if (job.job.done) job.job.done(std::move(result));
}

void JobQueue::end_waiting(MakeError make_error) {
  std::vector<QueuedJobPtr> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.assign(jobs_.begin(), jobs_.end());
  }
  for (const QueuedJobPtr& job : waiting) end(*job, make_error, &Counts::failed);
}

void JobQueue::add_worker() {
  const std::lock_guard lock(mutex_);
  ++load_.workers;
}

void JobQueue::remove_worker() {
  {
    const std::lock_guard lock(mutex_);
    if (--load_.workers > 0) return;
    unserved_ = true;
  }
  end_waiting(kUnserved);
}

}  // namespace hone::infer
