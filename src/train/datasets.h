#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "train/trainee.h"

namespace hone::train {

/// The tokenised splits of a run.
struct Datasets {
  struct Part {
    std::string name;
    data::TokenStore store;
  };
  std::optional<Part> training;
  std::string training_key;  ///< says all that the training samples depend on
  std::vector<Part> evaluations;
  std::vector<std::string> notes;  ///< what was tokenised anew and why, for people
};

/// Opens the stores in the options' folder, and builds those that are missing or stale. Fails where
/// training could teach nothing.
Datasets open_datasets(const Options& options, const Corpus& corpus, const Trainee& model,
                       ThreadPool& pool);

}  // namespace hone::train
