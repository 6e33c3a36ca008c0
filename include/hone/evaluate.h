#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hone/hone.h"

namespace hone {

/// Says what a model is scored on: a file of one's own, or a task's set.
struct EvaluationData {
  std::string file;       ///< CSV, TSV or JSON lines: a label column, and texts or an image's path
  std::string dir;        ///< a folder of images for each class
  std::string task_name;  ///< "sst2", "cifar10", ... or "reviews", which is built in
  std::string data;       ///< the task's folder, or one in GLUE's layout
  std::string split;      ///< empty: the validation set; of mnli both
  int64_t max_samples = -1;  ///< -1: all
};

/// The scores of one set.
struct Evaluation {
  std::string task;   ///< the task, or the file
  std::string split;  ///< "validation"
  int64_t samples = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;  ///< samples that had more tokens than the model takes
  /// Mean over the samples: cross-entropy, squared error, or binary cross-entropy over all labels.
  double loss = 0;
  /// Names and definitions are GLUE's: "accuracy", "f1", ... NaN where one is undefined.
  std::vector<std::pair<std::string, double>> metrics;
  double seconds = 0;
  double layers = 0;  ///< mean layers that an answer took in a model with exits; else 0
};

/// Loads a classifier, scores it on each set and frees it. `options` say how it runs.
std::vector<Evaluation> evaluate(const std::string& model, const EvaluationData& data,
                                 const ModelOptions& options = {});

}  // namespace hone
