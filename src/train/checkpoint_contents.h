#pragma once

#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "train/run_state.h"
#include "train/trained_model.h"
#include "train/weight_average.h"

namespace hone::train {

class ConceptKeeper;

/// The parts of a run that a checkpoint is made of and filled into.
struct Training {
  TrainedModel& model;
  optim::Optimizer& optimizer;
  RunState& state;
  WeightAverage* average = nullptr;         ///< null where none is kept
  const ConceptKeeper* concepts = nullptr;  ///< null unless the model explains itself
};

/// The file of the moving average.
inline constexpr const char* kAverageFile = "weights_average.safetensors";

/// The files of a run's checkpoints but for trainer_state.json and checkpoint.json. All checkpoints
/// of a run have the same texts.
struct CheckpointFiles {
  std::vector<data::TextFile> texts;
  /// The weights, a file for each kind of the optimiser's state, and the moving average.
  std::vector<models::ArrayFile> arrays;
  optim::StateLayout state;  ///< the optimiser's

  /// Says whether a file holds a kind of the optimiser's state, the one of index file - 1.
  bool is_state(size_t file) const { return file > 0 && file <= state.kinds().size(); }
  /// Gives the bytes of a parameter's array in a file.
  size_t bytes_of(size_t file, const nn::Parameters& parameters,
                  const nn::Parameter& parameter) const;
};
CheckpointFiles checkpoint_files(const Training& training);

/// The places of arrays: by file of CheckpointFiles::arrays, then by slot. Null where a file has
/// none of a slot.
using ArrayPlaces = std::vector<std::vector<const void*>>;

/// Gives the arrays that steps change; those of a run on a GPU lie in its memory.
ArrayPlaces newest_arrays(const CheckpointFiles& files, const Training& training);
/// Gives the arrays on the host, after those of a GPU were fetched.
ArrayPlaces fetch_arrays(const CheckpointFiles& files, const Training& training);

}  // namespace hone::train
