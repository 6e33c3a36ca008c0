#pragma once

#include "hone/train.h"
#include "train/options.h"

namespace hone::api {

/// Gives the options of a run. Values that are none, and contradictions, are usage errors.
train::Options run_options(const TrainingOptions& options);

}  // namespace hone::api
