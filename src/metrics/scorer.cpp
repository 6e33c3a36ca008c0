#include "metrics/scorer.h"

#include "base/error.h"

namespace hone::metrics {
namespace {

/// An entry of the one table of names: what a metric needs and how it is computed.
struct Named {
  const char* name;
  ProblemType problem;
  double (*value)(const ClassCounts&, const MultiLabel&, const Correlation&);
};

using C = ClassCounts;
using M = MultiLabel;
using R = Correlation;
constexpr Named kMetrics[] = {
    {"accuracy", ProblemType::single_label,
     [](const C& c, const M&, const R&) { return c.accuracy(); }},
    {"top5_accuracy", ProblemType::single_label,
     [](const C& c, const M&, const R&) { return c.top5_accuracy(); }},
    {"f1", ProblemType::single_label, [](const C& c, const M&, const R&) { return c.f1(); }},
    {"f1_macro", ProblemType::single_label,
     [](const C& c, const M&, const R&) { return c.f1_macro(); }},
    {"matthews_correlation", ProblemType::single_label,
     [](const C& c, const M&, const R&) { return c.matthews(); }},
    {"f1_micro", ProblemType::multi_label,
     [](const C&, const M& m, const R&) { return m.f1_micro(); }},
    {"subset_accuracy", ProblemType::multi_label,
     [](const C&, const M& m, const R&) { return m.subset_accuracy(); }},
    {"pearson", ProblemType::regression,
     [](const C&, const M&, const R& r) { return r.pearson(); }},
    {"spearmanr", ProblemType::regression,
     [](const C&, const M&, const R& r) { return r.spearman(); }},
    {"mse", ProblemType::regression, [](const C&, const M&, const R& r) { return r.mse(); }},
};

const Named* find(std::string_view name) {
  for (const Named& metric : kMetrics) {
    if (name == metric.name) return &metric;
  }
  return nullptr;
}

const char* name_of(ProblemType problem) {
  switch (problem) {
    case ProblemType::single_label:
      return "single-label classification";
    case ProblemType::multi_label:
      return "multi-label classification";
    default:
      return "regression";
  }
}

}  // namespace

std::vector<std::string> default_metrics(ProblemType problem, int64_t classes) {
  if (problem == ProblemType::regression) return {"pearson", "spearmanr", "mse"};
  if (problem == ProblemType::multi_label) return {"f1_micro", "subset_accuracy"};
  if (classes == 2) return {"accuracy", "f1", "f1_macro"};
  return {"accuracy", "f1_macro"};
}

Scorer::Scorer(ProblemType problem, int64_t classes, std::vector<std::string> metrics)
    : problem_(problem),
      metrics_(std::move(metrics)),
      counts_(problem == ProblemType::single_label ? classes : 0) {
  for (const std::string& name : metrics_) {
    const Named* metric = find(name);
    if (!metric) fail(ErrorKind::usage, "metric: unknown, got {}", quote(name));
    if (metric->problem != problem_) {
      fail(ErrorKind::usage, "metric: {} is not for {}", quote(name), name_of(problem_));
    }
  }
}

std::vector<double> Scorer::values() const {
  std::vector<double> values = counts_.values();
  for (const std::vector<double>& more : {multi_label_.values(), correlation_.values()}) {
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

void Scorer::merge(std::span<const double> values) {
  const size_t counts = counts_.values().size();
  counts_.merge(values.subspan(0, counts));
  multi_label_.merge(values.subspan(counts, MultiLabel::kCounts));
  correlation_.merge(values.subspan(counts + MultiLabel::kCounts));
}

int64_t Scorer::samples() const {
  return counts_.samples() + multi_label_.samples() + correlation_.samples();
}

std::vector<std::pair<std::string, double>> Scorer::results() const {
  std::vector<std::pair<std::string, double>> results;
  for (const std::string& name : metrics_) {
    results.emplace_back(name, find(name)->value(counts_, multi_label_, correlation_));
  }
  return results;
}

}  // namespace hone::metrics
