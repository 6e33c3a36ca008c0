#include "infer/session_worker.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "profile/recorder.h"

namespace hone::infer {
namespace {

// A forward pass is tried with this text.
constexpr std::string_view kFirstText = "a";

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

double seconds_since(int64_t ticks) {
  return seconds_since(Clock::time_point(Clock::duration(ticks)));
}

int64_t now_in_ticks() { return Clock::now().time_since_epoch().count(); }

/// Gives the exception at hand as the one error type; called in a catch block.
Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::memory, "there is not enough memory"};
  } catch (const std::exception& error) {
    return {ErrorKind::failed, fmt::format("the model's device failed: {}", error.what())};
  } catch (...) {
    return {ErrorKind::failed, "the model's device failed"};
  }
}

bool encoded_alike(const Slice& a, const Slice& b) {
  return a.job->job.truncate_left == b.job->job.truncate_left &&
         a.job->job.ids.empty() == b.job->job.ids.empty();
}

int64_t least_of(int64_t a, int64_t b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

}  // namespace

SessionWorker::SessionWorker(JobQueue& queue, const std::string& model, Options options)
    : queue_(queue), options_(std::move(options)), thread_([this, model] { run(model); }) {}

SessionWorker::~SessionWorker() { join(); }

void SessionWorker::join() {
  if (thread_.joinable()) thread_.join();
}

void SessionWorker::opened() { opened_.get_future().get(); }

double SessionWorker::since_good_pass() const {
  const int64_t ticks = good_pass_;
  return ticks == kNever ? -1 : seconds_since(ticks);
}

double SessionWorker::under_way() const {
  const int64_t ticks = batch_start_;
  return ticks == kNever ? 0 : seconds_since(ticks);
}

void SessionWorker::while_idle(const std::function<void(const Times& times)>& read) const {
  const std::lock_guard lock(session_mutex_);
  Times times = times_;
  times.encode = session_->encode_seconds();
  read(times);
}

void SessionWorker::run(const std::string& model) {
  try {
    // A GPU's session belongs to the thread that made it.
    session_ = std::make_unique<Session>(model, options_.session);
    prepare();
    if (options_.first_pass) run_first_pass();
  } catch (...) {
    return opened_.set_exception(std::current_exception());
  }
  queue_.add_worker();
  opened_.set_value();
  work();
}

/// Makes all that an open session needs to be fed.
void SessionWorker::prepare() {
  if (options_.sink) session_->set_sink(options_.sink);
  runner_ = std::make_unique<BatchRunner>(*session_, options_.max_batch_inputs,
                                          options_.max_batch_tokens);
  portion_ = {.tokens = least_of(options_.max_batch_tokens, session_->pass_units()),
              .inputs = least_of(options_.max_batch_inputs, session_->pass_inputs())};
}

void SessionWorker::run_first_pass() {
  const Input input{kFirstText, std::nullopt};
  session_->run({&input, 1});
  good_pass_ = now_in_ticks();
}

std::vector<Slice> SessionWorker::take() {
  const profile::Span span("waiting for requests");
  return queue_.take(portion_, packed_.empty());
}

void SessionWorker::work() {
  for (;;) {
    std::vector<Slice> lot = take();
    if (lot.empty() && packed_.empty()) return;
    const std::lock_guard lock(session_mutex_);
    const Stopwatch watch;
    try {
      if (lot.empty()) {
        start_batch();
        settle();
      } else {
        add(lot);
      }
    } catch (...) {
      if (!recover(lot, current_error())) return queue_.remove_worker();
    }
    times_.busy += watch.seconds();
  }
}

void SessionWorker::add(std::span<Slice> lot) {
  while (!lot.empty()) {
    size_t alike = 1;
    while (alike < lot.size() && encoded_alike(lot.front(), lot[alike])) ++alike;
    add_alike(lot.first(alike));
    lot = lot.subspan(alike);
  }
}

void SessionWorker::add_alike(std::span<Slice> slices) {
  const Stopwatch watch;
  const Samples* samples = nullptr;
  try {
    samples = &encode(slices);
  } catch (...) {
    if (slices.size() == 1) return refuse(slices.front(), current_error());
    for (Slice& slice : slices) add_alike({&slice, 1});
    return;
  }
  const double seconds = watch.seconds();
  std::span<const data::EncodedSample> rest = *samples;
  for (Slice& slice : slices) {
    const size_t count = slice.count;
    add_samples(slice, rest.first(count), seconds);
    rest = rest.subspan(count);
  }
}

const SessionWorker::Samples& SessionWorker::encode(std::span<const Slice> slices) {
  const Job& first = slices.front().job->job;
  if (!first.ids.empty()) {
    ids_.clear();
    for (const Slice& slice : slices) {
      const auto begin = slice.job->job.ids.begin() + static_cast<ptrdiff_t>(slice.first);
      ids_.insert(ids_.end(), begin, begin + static_cast<ptrdiff_t>(slice.count));
    }
    return session_->encode_ids(ids_, first.truncate_left);
  }
  inputs_.clear();
  for (const Slice& slice : slices) {
    const auto begin = slice.job->job.inputs.begin() + static_cast<ptrdiff_t>(slice.first);
    inputs_.insert(inputs_.end(), begin, begin + static_cast<ptrdiff_t>(slice.count));
  }
  return first.truncate_left ? session_->encode_cut_left(inputs_) : session_->encode(inputs_);
}

void SessionWorker::drop(Slice& slice) {
  queue_.release(static_cast<int64_t>(slice.count), slice.tokens);
  slice.count = 0;
}

void SessionWorker::refuse(Slice& slice, const Error& error) {
  drop(slice);
  queue_.refuse(*slice.job, error);
}

void SessionWorker::add_samples(Slice& slice, std::span<const data::EncodedSample> samples,
                                double seconds) {
  int64_t tokens = 0;
  for (const data::EncodedSample& sample : samples) tokens += sample.units;
  if (!queue_.note_encoded(slice, tokens, seconds)) return drop(slice);
  const bool cut = slice.job->job.truncate && session_->truncates();
  for (const data::EncodedSample& sample : samples) {
    if (cut || !sample.truncated()) continue;
    const auto message =
        fmt::format("an input of {} {} is longer than the limit of {}", sample.full,
                    session_->processor().unit_name(), session_->max_units());
    return refuse(slice, Error(ErrorKind::usage, message));
  }
  if (session_->bounded() || slice.job->job.token_vectors) {
    return answer_bounded(slice, samples, seconds);
  }
  for (const data::EncodedSample& sample : samples) pack(slice, sample);
}

void SessionWorker::pack(Slice& slice, const data::EncodedSample& sample) {
  if (slice.count == 0) return;  // another sample of it was refused
  if (!runner_->fits(sample)) start_batch();
  while (runner_->full()) settle();
  try {
    runner_->add(sample);
  } catch (const Error& error) {
    return refuse(slice, error);
  }
  packed_.push_back({slice.job, slice.first, sample.units});
  ++slice.first;
  --slice.count;
  slice.tokens -= sample.units;
}

void SessionWorker::answer_bounded(Slice& slice, std::span<const data::EncodedSample> samples,
                                   double seconds) {
  const Stopwatch watch;
  if (options_.on_batch) options_.on_batch(std::ssize(samples), slice.tokens);
  batch_start_ = now_in_ticks();
  std::vector<Answer> answers;
  try {
    answers = slice.job->job.token_vectors ? session_->answer_tokens(samples)
                                           : session_->answer(samples, seconds);
  } catch (const Error& error) {
    batch_start_ = kNever;
    if (error.kind() != ErrorKind::usage) throw;
    return refuse(slice, error);
  }
  batch_start_ = kNever;
  for (Answer& answer : answers) {
    if (float* row = row_of(*slice.job, slice.first)) {
      std::ranges::copy(std::exchange(answer.values, {}), row);
    }
    take_answer(slice.job, slice.first++, std::move(answer));
  }
  slice.count = 0;
  end_batch(std::ssize(answers), slice.tokens, watch.seconds());
}

void SessionWorker::start_batch() {
  if (runner_->packed_samples() == 0) return;
  if (options_.on_batch) options_.on_batch(runner_->packed_samples(), runner_->packed_units());
  started_.push_back(Clock::now());
  batch_start_ = now_in_ticks();
  runner_->flush();
}

void SessionWorker::settle() {
  BatchAnswers batch = runner_->take();
  batch.wait();
  const profile::Span span("answering", profile::Stage::writing);
  int64_t tokens = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    const Packed packed = std::move(packed_.front());
    packed_.pop_front();
    tokens += packed.tokens;
    take_answer(packed.job, packed.input, batch.answer(i, row_of(*packed.job, packed.input)));
  }
  const Clock::time_point begin = std::max(started_.front(), settled_);
  started_.pop_front();
  settled_ = Clock::now();
  batch_start_ = started_.empty() ? kNever : settled_.time_since_epoch().count();
  end_batch(static_cast<int64_t>(batch.size()), tokens,
            std::chrono::duration<double>(settled_ - begin).count());
}

float* SessionWorker::row_of(const QueuedJob& job, size_t input) const {
  return job.job.rows ? job.job.rows + input * static_cast<size_t>(session_->output_width())
                      : nullptr;
}

void SessionWorker::take_answer(const QueuedJobPtr& job, size_t input, Answer answer) {
  job->answers[input] = std::move(answer);
  if (job->unanswered.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.push_back(job);
}

void SessionWorker::end_batch(int64_t inputs, int64_t tokens, double seconds) {
  good_pass_ = now_in_ticks();
  reopened_ = false;
  queue_.release_answered(inputs, tokens, seconds);
  times_.jobs += std::ssize(finished_);
  for (const QueuedJobPtr& job : std::exchange(finished_, {})) queue_.finish(*job);
}

bool SessionWorker::recover(std::span<Slice> lot, const Error& error) {
  good_pass_ = batch_start_ = kNever;
  for (Slice& slice : lot) {
    if (slice.count > 0) refuse(slice, error);
  }
  for (const Packed& packed : std::exchange(packed_, {})) {
    queue_.release(1, packed.tokens);
    queue_.refuse(*packed.job, error);
  }
  started_.clear();
  runner_.reset();
  if (std::exchange(reopened_, true)) return false;
  try {
    session_->reopen();
    prepare();
    run_first_pass();
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace hone::infer
