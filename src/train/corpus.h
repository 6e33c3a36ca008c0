#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/processor.h"
#include "data/splits.h"
#include "models/model_config.h"
#include "train/options.h"

namespace hone::train {

/// Names the task of a parser, which reads trees in brackets.
inline constexpr const char* kParseTask = "parse";

/// The data of a run: a task's splits, own files, or the built-in reviews where nothing is named.
struct Corpus {
  struct Part {
    std::string name;  ///< "validation", "validation_matched", ...
    data::Split split;
  };

  std::string name;  ///< the task, or the training file
  data::SampleKind samples = data::SampleKind::text;
  const data::Task* task = nullptr;
  std::optional<Part> training;
  std::vector<Part> evaluations;
  std::optional<Part> prediction;
  data::LabelSet labels;
  std::vector<std::string> metrics;  ///< none: the problem's usual ones
  bool parses = false;               ///< its texts have trees, and no labels

  /// Gives the data's own label names, as LabelMap wants them.
  std::vector<std::string> task_labels() const;
  ProblemType problem() const { return labels.problem.value_or(ProblemType::single_label); }
};

/// Finds the files that the run needs and, of own ones, the labels that occur. Fails where one is
/// missing, before anything is loaded.
Corpus open_corpus(const Options& options);

/// Says what training changes of a data set's images where nobody says otherwise: parts of own
/// images, resized and mirrored; small moves of CIFAR-10's and Fashion-MNIST's, mirrored too, and
/// of MNIST's, which are digits.
data::AugmentOptions default_augmentation(const Corpus& corpus);

/// Makes `config` answer the corpus' labels. A model that has the same names in another order keeps
/// its own.
void adopt_labels(const Corpus& corpus, models::ModelConfig& config);

}  // namespace hone::train
