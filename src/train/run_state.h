#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/sampler.h"
#include "optim/loss_scaler.h"
#include "train/log_entry.h"

namespace hone::train {

/// Holds all that a run knows besides weights and the optimiser's arrays: a run that starts from it
/// goes on as if it had never stopped. No random generator is in it: every random number is a
/// function of the seed and of what it is for.
struct RunState {
  int64_t step = 0;             ///< optimiser steps done
  data::DataPosition position;  ///< position of the next batch
  double loss_since_log = 0;    ///< sum of the steps' losses
  int64_t logged_step = 0;
  double loss_in_all = 0;
  double last_loss = 0;  ///< finite; shown for a step whose own loss is not (fp16)
  int64_t samples = 0;
  int64_t tokens = 0;
  std::optional<double> best;  ///< value of the metric that chooses the best model
  int64_t best_step = 0;
  int64_t evaluations_without_gain = 0;
  optim::LossScaler scaler;  ///< loss scaling of fp16
  std::vector<LogEntry> history;
};

/// Lists what has to be alike for a run to go on, by name, in words.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;
/// The fingerprint's name for the number of batches a step has.
inline constexpr const char* kAccumulation = "gradient accumulation";
/// A run may go on with other ranks; it then may have other threads too.
inline constexpr const char* kRanks = "ranks";
inline constexpr const char* kThreads = "thread count";

Json to_json(const RunState& state);
/// `file` names the origin in errors.
RunState state_from_json(const Json& json, const std::string& file);

}  // namespace hone::train
