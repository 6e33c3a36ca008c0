#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint_contents.h"

namespace hone::train {

/// The copy of a self-explaining model's concepts, as the epoch began with them.
inline constexpr const char* kConceptsCopy = "concepts.bin";

/// All that a checkpoint is written from. What is pointed to must not change while it is written.
struct CheckpointContents {
  const CheckpointFiles* files = nullptr;
  const ArrayPlaces* arrays = nullptr;  ///< places on the host
  const Fingerprint* fingerprint = nullptr;
  Isa isa{};  ///< the arrays' layout is this instruction set's
  RunState state;
  int64_t optimizer_steps = 0;
  /// Writes the copy of a self-explaining model's concepts, where present.
  std::function<void(const std::string& path)> write_concepts = {};
  /// Where true, each file of arrays has a thread: one is unpacked and hashed while another waits
  /// for the disk.
  bool in_threads = true;
};

/// Writes a checkpoint: a complete model folder, the optimiser's arrays by tensor
/// (optimizer_*.safetensors), the state (trainer_state.json) and a list of the files with their
/// hashes (checkpoint.json). The folder appears under its name when all is on the disk; one that a
/// run left which was resumed from an earlier checkpoint is replaced.
void write_checkpoint(const std::string& folder, const CheckpointContents& contents);

/// Writes trainer_state.json of `folder` alone, as it goes along with a final model.
void write_state(const std::string& folder, const RunState& state, int64_t optimizer_steps);

/// Fails, naming the file, unless every file of the checkpoint is as it was written.
void verify_checkpoint(const std::string& folder);

/// Gives the batches a step of the run that wrote a verified checkpoint; 0 where that is no number.
int64_t recorded_accumulation(const std::string& folder);

/// Fills everything from a verified checkpoint. One whose fingerprint differs from this run's is a
/// usage error that says in what.
void read_checkpoint(const std::string& folder, const Training& training,
                     const Fingerprint& fingerprint, ThreadPool& pool);

/// Lists the folders checkpoint-N in `output`, by rising N.
std::vector<std::string> list_checkpoints(const std::string& output);
std::string checkpoint_path(const std::string& output, int64_t step);

/// Gives the checkpoint that `--resume_from_checkpoint` means, verified; empty for "last" where
/// there is none. A damaged one is an error that offers the one before it.
std::string choose_checkpoint(const std::string& output, const std::string& resume);

void remove_checkpoint(const std::string& folder);

/// Removes the oldest checkpoints until `limit` are left (0: none is removed); `keep`, the best
/// one, stays and counts.
void rotate_checkpoints(const std::string& output, int64_t limit, const std::string& keep);

/// Reads the moving average of a checkpoint, where the run keeps one.
void restore_average(const std::string& folder, const Training& training);

}  // namespace hone::train
