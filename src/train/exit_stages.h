#pragma once

#include <vector>

#include "train/options.h"

namespace hone::train {

/// Lists the runs that the options ask for, one after the other. There is one, but DeeBERT has two:
/// the model is trained first, in a folder below the output, then its exits. A model that has a
/// head for these labels already, or a first stage that is finished, is not trained again. Both
/// read the data that the first one tokenised; the best model is looked for in the first alone.
std::vector<Options> exit_stages(const Options& options);

}  // namespace hone::train
