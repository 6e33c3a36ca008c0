#include "study/exit_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::study {
namespace {

using models::ExitMethod;
using models::ExitSettings;

/// DeeBERT's published sweep.
constexpr double kEntropies[] = {0, .001, .005, .01, .05, .1, .15, .2, .3, .4, .5, .6, .7};

constexpr double kConfidences[] = {.5, .6, .7, .8, .85, .9, .93, .95, .97, .98, .99, .995};

std::vector<ExitSettings> sweep(const models::ModelConfig& config) {
  std::vector<ExitSettings> all;
  ExitSettings settings = config.exits;
  if (settings.method == ExitMethod::deebert) {
    for (const double entropy : kEntropies) {
      settings.entropy = entropy;
      all.push_back(settings);
    }
  } else if (settings.method == ExitMethod::adaptive) {
    for (const double confidence : kConfidences) {
      settings.confidence = confidence;
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
  const infer::EvaluationResult together = pass(kBatch, 0);
  if (together.samples == 0) fail(ErrorKind::bad_file, "the data has no samples");
  const infer::EvaluationResult alone = pass(1, options.timed_samples);
  point.score = together.metrics.front().second;
  point.layers = together.layers > 0 ? together.layers : static_cast<double>(curve.depth);
  point.seconds_32 = together.seconds / static_cast<double>(together.samples);
  point.seconds_one = alone.seconds / static_cast<double>(alone.samples);
  curve.metric = together.metrics.front().first;
  curve.samples = together.samples;
}

/// The larger of these shares of a target counts as reached.
constexpr double kReached = 1.05;

double target(const ExitCurveOptions& options) {
  return options.target_layers > 0 ? options.target_layers : options.target_ms;
}

double cost(const ExitCurveOptions& options, const ExitPoint& point) {
  return options.target_layers > 0 ? point.layers : 1e3 * point.seconds_one;
}

/// Adds the point of the confidence with the highest cost that the target allows.
void approach_target(infer::Session& session, const ExitCurveOptions& options, ExitCurve& curve) {
  constexpr int kHalvings = 12;
  constexpr double kNines = 5;  // 0.99999 is the highest confidence but 1
  double low = 0, high = kNines;
  ExitPoint best{.settings = session.config().exits};
  for (int i = 0; i < kHalvings; ++i) {
    ExitPoint point = best;
    point.settings.confidence = i == 0 ? 0 : 1 - std::pow(10, -(low + high) / 2);
    session.exits()->set(point.settings);
    measure(session, options, point, curve);
    const bool fits = cost(options, point) <= target(options);
    if (fits || i == 0) best = point;
    if (i > 0) (fits ? low : high) = (low + high) / 2;
  }
  curve.points.push_back(best);
}

/// Chooses the point with the best score that the target allows.
void choose_by_target(const ExitCurveOptions& options, ExitCurve& curve) {
  curve.chosen = -1;
  double least = cost(options, curve.whole);
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const ExitPoint& point = curve.points[i];
    least = std::min(least, cost(options, point));
    if (cost(options, point) > kReached * target(options)) continue;
    if (curve.chosen < 0 || point.score > curve.points[static_cast<size_t>(curve.chosen)].score) {
      curve.chosen = static_cast<int64_t>(i);
    }
  }
  if (curve.chosen >= 0) return;
  fail(ErrorKind::usage, "{}: {} cannot be met; the least is {:.2f}",
       options.target_layers > 0 ? "target_layers" : "target_ms", target(options), least);
}

}  // namespace

std::string ExitPoint::name() const {
  switch (settings.method) {
    case ExitMethod::pabee:
      return fmt::format("patience {}", settings.patience);
    case ExitMethod::deebert:
      return fmt::format("entropy {}", settings.entropy);
    case ExitMethod::adaptive:
      return fmt::format("confidence {}", settings.confidence);
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
  if (target(options) > 0) {
    if (session.config().exits.method == ExitMethod::adaptive) {
      approach_target(session, options, curve);
    }
    choose_by_target(options, curve);
  }
  return curve;
}

}  // namespace hone::study
