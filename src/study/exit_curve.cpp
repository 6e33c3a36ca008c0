#include "study/exit_curve.h"

#include <fmt/format.h>

#include "base/error.h"

namespace hone::study {
namespace {

using models::ExitMethod;
using models::ExitSettings;

/// DeeBERT's published sweep.
constexpr double kEntropies[] = {0, .001, .005, .01, .05, .1, .15, .2, .3, .4, .5, .6, .7};

std::vector<ExitSettings> sweep(const models::ModelConfig& config) {
  std::vector<ExitSettings> all;
  ExitSettings settings = config.exits;
  if (settings.method == ExitMethod::deebert) {
    for (const double entropy : kEntropies) {
      settings.entropy = entropy;
      all.push_back(settings);
    }
  } else {
    for (int64_t patience = 1; patience + 1 < config.depth(); ++patience) {
      settings.patience = patience;
      all.push_back(settings);
    }
  }
  return all;
}

void measure(infer::Session& session, const ExitCurveOptions& options, ExitPoint& point,
             ExitCurve& curve) {
  const auto pass = [&](int64_t batch, int64_t most) {
    infer::EvaluateOptions how = options.evaluate;
    how.batch_size = batch;
    if (most > 0 && (how.max_samples < 0 || how.max_samples > most)) how.max_samples = most;
    const auto records = options.open();
    return infer::evaluate(session, *records, how);
  };
  constexpr int64_t kBatch = 32;
  const infer::Evaluation together = pass(kBatch, 0);
  if (together.samples == 0) fail(ErrorKind::bad_file, "the data has no samples");
  const infer::Evaluation alone = pass(1, options.timed_samples);
  point.score = together.metrics.front().second;
  point.layers = together.layers > 0 ? together.layers : static_cast<double>(curve.depth);
  point.seconds_32 = together.seconds / static_cast<double>(together.samples);
  point.seconds_one = alone.seconds / static_cast<double>(alone.samples);
  curve.metric = together.metrics.front().first;
  curve.samples = together.samples;
}

}  // namespace

std::string ExitPoint::name() const {
  switch (settings.method) {
    case ExitMethod::pabee:
      return fmt::format("patience {}", settings.patience);
    case ExitMethod::deebert:
      return fmt::format("entropy {}", settings.entropy);
    default:
      return "all layers";
  }
}

ExitCurve measure_exits(const std::string& model, const ExitCurveOptions& options) {
  infer::SessionOptions opening;
  opening.threads = options.threads;
  opening.max_length = options.max_length;
  infer::Session session(model, opening);
  if (!session.exits()) {
    fail(ErrorKind::usage, "{}: has no early exits; training with `model.exits` gives it some",
         session.folder().path);
  }
  opening.exits = false;
  infer::Session whole(model, opening);
  ExitCurve curve;
  curve.depth = session.config().depth();
  measure(whole, options, curve.whole, curve);
  for (const ExitSettings& settings : sweep(session.config())) {
    ExitPoint point{.settings = settings};
    session.exits()->set(settings);
    measure(session, options, point, curve);
    const bool good = point.score >= curve.whole.score - options.target_drop / 100;
    if (good && (curve.chosen < 0 ||
                 point.layers < curve.points[static_cast<size_t>(curve.chosen)].layers)) {
      curve.chosen = static_cast<int64_t>(curve.points.size());
    }
    curve.points.push_back(point);
  }
  return curve;
}

}  // namespace hone::study
