#pragma once

#include <exception>
#include <future>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/checkpoint_copy.h"
#include "train/run.h"

namespace hone::train {

/// Writes a run's checkpoints beside its steps: save() copies everything between two steps, and a
/// thread hashes and writes the copy while the next steps run. At most one checkpoint is on its
/// way and none is left out. The oldest ones are removed behind each that is complete.
///
/// All calls come from the thread of the run, which hears of errors in the writing thread at the
/// next call of save(), check() or finish().
class CheckpointWriter {
 public:
  /// All arguments must outlive this. The summary's last checkpoint is kept up to date: it names
  /// complete ones alone.
  CheckpointWriter(const Options& options, const Training& training, Fingerprint fingerprint,
                   ThreadPool& pool, Observer& observer, Summary& summary);
  /// Waits for the checkpoint that is on its way.
  ~CheckpointWriter() { wait(); }
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  const Fingerprint& fingerprint() const { return fingerprint_; }

  /// Takes the memory of the copy before the first step. Where there is not enough it says so, and
  /// save() then writes a checkpoint to its end, as it does without a call of this.
  void reserve();
  /// Begins the checkpoint of the current step, unless that was done before, behind the one that is
  /// on its way. Where `steps_follow`, they wait if the checkpoint before is not complete yet.
  void save(bool steps_follow);
  /// Throws what went wrong with a checkpoint that has ended meanwhile; never waits.
  void check();
  /// Waits for the checkpoint that is on its way; throws what went wrong with it.
  void finish();
  /// Waits as finish() does, and drops what went wrong: a run that ends with another error calls
  /// it.
  void wait() noexcept;

 private:
  /// The outcome of one checkpoint.
  struct Outcome {
    std::string folder;
    bool complete = false;
    double seconds = 0;
    std::exception_ptr error;
  };

  bool is_ready() const;
  CheckpointContents contents() const;
  /// Writes a checkpoint and removes old ones; the part that runs in the writing thread.
  Outcome write(const std::string& folder, const CheckpointContents& contents) const;
  void settle(const Outcome& outcome);

  const Options& options_;
  Training training_;
  Fingerprint fingerprint_;
  ThreadPool& pool_;
  Observer& observer_;
  Summary& summary_;
  std::optional<CheckpointFiles> files_;
  std::optional<CheckpointCopy> copy_;
  std::string newest_;  ///< the last checkpoint that is complete or on its way
  bool told_ = false;   ///< whether the user was told that steps wait
  std::future<Outcome> under_way_;
};

}  // namespace hone::train
