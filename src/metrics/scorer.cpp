#include "metrics/scorer.h"

#include "base/error.h"

namespace hone::metrics {
namespace {

/// The one table of names: what each needs and how it is computed.
struct Named {
  const char* name;
  Problem problem;
  double (*value)(const ClassCounts&, const MultiLabel&, const Correlation&);
};

using C = ClassCounts;
using M = MultiLabel;
using R = Correlation;
constexpr Named kMetrics[] = {
    {"accuracy", Problem::single_label,
     [](const C& c, const M&, const R&) { return c.accuracy(); }},
    {"f1", Problem::single_label, [](const C& c, const M&, const R&) { return c.f1(); }},
    {"f1_macro", Problem::single_label,
     [](const C& c, const M&, const R&) { return c.f1_macro(); }},
    {"matthews_correlation", Problem::single_label,
     [](const C& c, const M&, const R&) { return c.matthews(); }},
    {"f1_micro", Problem::multi_label, [](const C&, const M& m, const R&) { return m.f1_micro(); }},
    {"subset_accuracy", Problem::multi_label,
     [](const C&, const M& m, const R&) { return m.subset_accuracy(); }},
    {"pearson", Problem::regression, [](const C&, const M&, const R& r) { return r.pearson(); }},
    {"spearmanr", Problem::regression, [](const C&, const M&, const R& r) { return r.spearman(); }},
    {"mse", Problem::regression, [](const C&, const M&, const R& r) { return r.mse(); }},
};

const Named* find(std::string_view name) {
  for (const Named& metric : kMetrics) {
    if (name == metric.name) return &metric;
  }
  return nullptr;
}

const char* name_of(Problem problem) {
  switch (problem) {
    case Problem::single_label:
      return "single-label classification";
    case Problem::multi_label:
      return "multi-label classification";
    default:
      return "regression";
  }
}

}  // namespace

std::vector<std::string> default_metrics(Problem problem, int64_t classes) {
  if (problem == Problem::regression) return {"pearson", "spearmanr", "mse"};
  if (problem == Problem::multi_label) return {"f1_micro", "subset_accuracy"};
  if (classes == 2) return {"accuracy", "f1", "f1_macro"};
  return {"accuracy", "f1_macro"};
}

Scorer::Scorer(Problem problem, int64_t classes, std::vector<std::string> metrics)
    : problem_(problem),
      metrics_(std::move(metrics)),
      counts_(problem == Problem::single_label ? classes : 0) {
  for (const std::string& name : metrics_) {
    const Named* metric = find(name);
    if (!metric) fail(ErrorKind::usage, "metric: unknown, got {}", quote(name));
    if (metric->problem != problem_) {
      fail(ErrorKind::usage, "metric: {} is not for {}", quote(name), name_of(problem_));
    }
  }
}

void Scorer::merge(const Scorer& other) {
  counts_.merge(other.counts_);
  multi_label_.merge(other.multi_label_);
  correlation_.merge(other.correlation_);
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
