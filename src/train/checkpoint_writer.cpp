#include "train/checkpoint_writer.h"

#include <fmt/format.h>

#include <chrono>

#include "base/background.h"
#include "base/clock.h"
#include "base/error.h"
#include "profile/recorder.h"
#include "train/budget.h"
#include "train/concept_keeper.h"
#include "train/results.h"

namespace hone::train {

CheckpointWriter::CheckpointWriter(const Options& options, const Training& training,
                                   Fingerprint fingerprint, ThreadPool& pool, Observer& observer,
                                   Summary& summary)
    : options_(options),
      training_(training),
      fingerprint_(std::move(fingerprint)),
      pool_(pool),
      observer_(observer),
      summary_(summary) {}

void CheckpointWriter::reserve() {
  if (copy_ || options_.saving.kind == Interval::Kind::never) return;
  if (!files_) files_ = checkpoint_files(training_);
  const nn::Parameters& parameters = training_.model.model().parameters();
  const uint64_t bytes = CheckpointCopy::bytes_for(*files_, parameters);
  // Two things take memory later: a processor's first step, for activations, and threads that
  // write, for their stacks.
  constexpr uint64_t kStacks = uint64_t{64} << 20;
  const uint64_t later = kStacks + (options_.gpu ? 0 : summary_.memory.activations);
  try {
    if (bytes + later <= available_memory()) copy_.emplace(*files_, parameters, pool_);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory) throw;
  }
  if (copy_) {
    summary_.checkpoint_copy_bytes = bytes;
  } else {
    observer_.say(
        fmt::format("steps wait while checkpoints are written: there is no memory for a "
                    "copy of {}",
                    megabytes(bytes)));
  }
}

CheckpointContents CheckpointWriter::contents() const {
  CheckpointContents contents;
  contents.files = &*files_;
  contents.fingerprint = &fingerprint_;
  contents.isa = training_.model.model().parameters().isa();
  contents.state = training_.state;
  contents.optimizer_steps = training_.optimizer.steps();
  if (training_.concepts) contents.write_concepts = training_.concepts->copy_writer();
  return contents;
}

void CheckpointWriter::save(bool steps_follow) {
  const std::string folder = checkpoint_path(options_.output, training_.state.step);
  if (folder == newest_ || folder == summary_.last_checkpoint) return;
  const bool waits = steps_follow && under_way_.valid() && !is_ready();
  const double before = summary_.checkpoint_background_seconds;
  finish();
  if (waits && !told_) {
    told_ = true;
    observer_.say(
        fmt::format("checkpoints take longer to write ({:.1f} s) than the interval "
                    "between them: steps wait",
                    summary_.checkpoint_background_seconds - before));
  }
  if (!files_) files_ = checkpoint_files(training_);
  CheckpointContents now = contents();
  newest_ = folder;
  if (copy_) {
    copy_->take(newest_arrays(*files_, training_));
    now.arrays = &copy_->places();
    under_way_ = in_background([this, folder, now = std::move(now)] { return write(folder, now); });
  } else {
    const ArrayPlaces places = fetch_arrays(*files_, training_);
    now.arrays = &places;
    now.in_threads = false;  // they take memory, too
    settle(write(folder, now));
  }
}

CheckpointWriter::Outcome CheckpointWriter::write(const std::string& folder,
                                                  const CheckpointContents& contents) const {
  const profile::Span span("writing a checkpoint", profile::Stage::checkpoint);
  Outcome outcome;
  outcome.folder = folder;
  const Stopwatch watch;
  try {
    write_checkpoint(folder, contents);
    outcome.complete = true;
    if (profile::Recorder* recorder = profile::active()) {
      recorder->add_fact("checkpoints", 1);
      recorder->add_fact("checkpoint_bytes", static_cast<double>(summary_.checkpoint_copy_bytes));
    }
    const RunState& state = contents.state;
    const std::string best = state.best ? checkpoint_path(options_.output, state.best_step) : "";
    rotate_checkpoints(options_.output, options_.save_total_limit, best);
  } catch (...) {
    outcome.error = std::current_exception();
  }
  outcome.seconds = watch.seconds();
  return outcome;
}

void CheckpointWriter::settle(const Outcome& outcome) {
  if (copy_) summary_.checkpoint_background_seconds += outcome.seconds;
  if (outcome.complete) {
    summary_.last_checkpoint = outcome.folder;
    observer_.saved(outcome.folder);
  }
  if (outcome.error) std::rethrow_exception(outcome.error);
}

bool CheckpointWriter::is_ready() const {
  return under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void CheckpointWriter::check() {
  if (under_way_.valid() && is_ready()) finish();
}

void CheckpointWriter::finish() {
  if (under_way_.valid()) settle(under_way_.get());
}

void CheckpointWriter::wait() noexcept {
  try {
    finish();
  } catch (...) {
    // The run ends with the error that came before this one.
  }
}

}  // namespace hone::train
