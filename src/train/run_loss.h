#pragma once

#include <vector>

#include "data/sample_store.h"
#include "ops/loss.h"
#include "train/corpus.h"
#include "train/options.h"

namespace hone::train {

/// Gives the loss that the options and the labels ask for. `mixes` says whether training samples
/// are mixed, and their labels shares of classes.
ops::LossOptions loss_for(const Options& options, const Corpus& corpus, bool mixes);

/// Gives scikit-learn's "balanced" weights: samples / (classes * samples of the class).
std::vector<float> balanced_weights(const data::SampleStore& store);

}  // namespace hone::train
