#pragma once

#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "train/run_state.h"
#include "train/trained_model.h"

namespace hone::train {

/// The parts of a run that a checkpoint is made of and filled into.
struct Training {
  TrainedModel& model;
  optim::Optimizer& optimizer;
  RunState& state;
};

/// One of an optimiser's two arrays, in a file of its own.
struct Moment {
  const char* file;
  float* (optim::Optimizer::*on_host)(const Weight&);
  const float* (optim::Optimizer::*newest)(const Weight&) const;
};
inline constexpr Moment kMoments[] = {
    {"optimizer_exp_avg.safetensors", &optim::Optimizer::first_moment,
     &optim::Optimizer::newest_first_moment},
    {"optimizer_exp_avg_sq.safetensors", &optim::Optimizer::second_moment,
     &optim::Optimizer::newest_second_moment}};

/// Lists the parameters of which the optimiser keeps this array.
std::vector<const nn::Parameter*> with_moment(const Training& training, const Moment& moment);

/// The files of a run's checkpoints but for trainer_state.json and checkpoint.json. All checkpoints
/// of a run have the same texts.
struct CheckpointFiles {
  std::vector<data::TextFile> texts;
  std::vector<models::ArrayFile> arrays;  ///< the weights, and a file for each of kMoments
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
