#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/sample_store.h"
#include "train/trained_model.h"

namespace hone::train {

/// The encoded splits of a run.
struct Datasets {
  struct Part {
    std::string name;
    data::SampleStore store;
    std::string key;  ///< says all that the samples depend on
  };
  std::optional<Part> training;
  std::vector<float> teacher = {};  ///< a teacher's logits of the training samples
  std::vector<Part> evaluations;
  std::vector<std::string> notes;  ///< what was encoded anew and why, for people
};

/// Opens the stores in the options' folder, and builds those that are missing or stale. Fails where
/// there is nothing to learn.
Datasets open_datasets(const Options& options, const Corpus& corpus, const TrainedModel& model,
                       ThreadPool& pool);

}  // namespace hone::train
