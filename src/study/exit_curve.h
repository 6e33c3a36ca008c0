#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "infer/evaluate.h"

namespace hone::study {

/// One setting of a model's exits, and what it gives on the data.
struct ExitPoint {
  models::ExitSettings settings;
  double score = 0;        ///< value of the first metric
  double layers = 0;       ///< mean layers of an answer
  double seconds_one = 0;  ///< seconds a text, one at a time
  double seconds_32 = 0;   ///< seconds a text, in batches of 32

  /// Gives "patience 3", "entropy 0.1", "confidence 0.9", or "all layers" for the whole model.
  std::string name() const;
};

struct ExitCurve {
  std::string metric;
  int64_t samples = 0;
  int64_t depth = 0;
  ExitPoint whole;  ///< the point without exits
  std::vector<ExitPoint> points;
  int64_t chosen = -1;  ///< index in `points`; -1: none loses little enough
};

struct ExitCurveOptions {
  double target_drop = 0.3;  ///< points of the metric that may be lost
  /// Mean layers of an answer, or milliseconds of a text alone, that are not to be exceeded by more
  /// than a twentieth, in place of target_drop; 0: not given. Adaptive exits come near to them.
  double target_layers = 0;
  double target_ms = 0;
  /// Opens the data anew: it is read for every setting.
  std::function<std::unique_ptr<data::RecordStream>()> open;
  infer::EvaluateOptions evaluate = {};
  int64_t timed_samples = 200;  ///< samples timed one at a time
  int threads = 0;
  int64_t max_length = 0;
};

/// Runs the data with every patience or threshold, and chooses the one with the fewest layers that
/// loses little enough. A model without exits is a usage error.
ExitCurve measure_exits(const std::string& model, const ExitCurveOptions& options);

Json to_json(const ExitCurve& curve);
std::string to_csv(const ExitCurve& curve);
/// Draws score against measured speed-up.
std::string to_svg(const ExitCurve& curve);

/// Writes exit_curve.json, .csv and .svg into the model's folder, and the choice into its config.
void store_exits(const std::string& folder, const ExitCurve& curve);

}  // namespace hone::study
