#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/labelled_sets.h"
#include "data/labels.h"
#include "data/records.h"
#include "infer/session.h"
#include "metrics/scorer.h"

namespace hone::infer {

/// What a session reached over labelled records.
struct EvaluationResult {
  int64_t samples = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;
  /// Mean over the samples: cross-entropy, squared error, or binary cross-entropy over all labels.
  double loss = 0;
  double seconds = 0;
  double layers = 0;  ///< mean layers that an answer took in a model with exits
  double late = 0;    ///< share of answers behind the deadline
  std::vector<std::pair<std::string, double>> metrics;  ///< NaN where undefined
};

struct EvaluateOptions {
  std::vector<std::string> task_labels =
      {};                                 ///< the data's label names in id order; none: own file
  std::vector<std::string> metrics = {};  ///< none: the problem's usual ones
  int64_t batch_size = 0;                 ///< most samples of a forward pass; 0: what is efficient
  int64_t max_samples = -1;               ///< -1: all
  bool truncate = true;                   ///< false: a longer input is an error
  double deadline = 0;                    ///< the session's
  std::function<void(int64_t samples)> progress = {};  ///< called after each batch
  std::function<void(const Answer&)> answered =
      {};  ///< called in the order of the records, perhaps
           ///< by another thread than the caller's
};

/// Has files be read as what the model reads, texts or images. Fails where the data is named and is
/// the other.
void match_samples(const std::string& model, data::LabelledData& data);

/// Runs the session over labelled records. The session gives logits.
EvaluationResult evaluate(Session& session, data::RecordStream& records,
                          const EvaluateOptions& options);

}  // namespace hone::infer
