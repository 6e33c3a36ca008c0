#include "study/choose_int8.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "infer/session.h"
#include "io/folder.h"
#include "models/int8.h"

namespace hone::study {
namespace {

struct Measurement {
  std::string metric;
  double score = 0;
  double loss = 0;
  int64_t samples = 0;
};

Measurement measure(const std::string& model, const infer::SessionOptions& settings,
                    const Int8Options& options) {
  infer::Session session(model, settings);
  Measurement sum;
  const auto sets = options.open();
  for (const auto& records : sets) {
    const infer::EvaluationResult result = infer::evaluate(session, *records, options.evaluate);
    if (result.samples == 0) fail(ErrorKind::bad_file, "the data has no samples");
    sum.metric = result.metrics.front().first;
    sum.score += result.metrics.front().second / static_cast<double>(sets.size());
    sum.loss += result.loss / static_cast<double>(sets.size());
    sum.samples += result.samples;
  }
  if (!std::isfinite(sum.score)) {
    fail(ErrorKind::bad_file, "{} is undefined on this data", sum.metric);
  }
  return sum;
}

/// Sorts parts by what their cut alone costs, most expensive first: points lost, then loss gained.
std::vector<std::string> by_cost(const std::vector<std::string>& parts,
                                 const std::vector<Measurement>& alone) {
  std::vector<size_t> order(parts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(alone[a].score, -alone[a].loss) < std::pair(alone[b].score, -alone[b].loss);
  });
  std::vector<std::string> sorted;
  for (const size_t i : order) sorted.push_back(parts[i]);
  return sorted;
}

}  // namespace

Int8Choice choose_int8(const std::string& model, const Int8Options& options) {
  const auto run = [&](DType dtype, const std::vector<std::string>& kept) {
    infer::SessionOptions settings;
    settings.dtype = dtype;
    settings.kept = kept;
    settings.threads = options.threads;
    settings.max_length = options.max_length;
    return measure(model, settings, options);
  };
  const Measurement before = run(DType::f32, {});
  Measurement after = run(DType::i8, {});
  Int8Choice choice{before.metric, before.samples, before.score, after.score, {}, {}};
  if (choice.drop() <= options.max_drop || !options.mixed) return choice;

  const models::ModelFolder folder = models::open_model_folder(io::resolve_model(model));
  const std::vector<std::string> parts = folder.config->parts();
  std::vector<Measurement> alone;
  for (const std::string& part : parts) {
    std::vector<std::string> others;
    std::copy_if(parts.begin(), parts.end(), std::back_inserter(others),
                 [&](const std::string& each) { return each != part; });
    alone.push_back(run(DType::i8, others));
    choice.costs.emplace_back(part, 100 * (before.score - alone.back().score));
  }
  for (const std::string& part : by_cost(parts, alone)) {
    choice.kept.push_back(part);
    after = run(DType::i8, choice.kept);
    choice.after = after.score;
    if (choice.drop() <= options.max_drop) break;
  }
  return choice;
}

}  // namespace hone::study
