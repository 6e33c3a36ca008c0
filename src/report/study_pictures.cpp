#include "report/study_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace hone::report {
namespace {

/// The metric by which the cases of a study are told apart.
struct Aim {
  const char* metric;
  bool least;
};

bool has(const StudyRuns& study, const std::string& metric) {
  return std::find(study.metrics.begin(), study.metrics.end(), metric) != study.metrics.end();
}

/// Adds bars of those metrics that were measured.
void add_bars(const StudyRuns& study, const std::vector<std::string>& metrics, Section& section) {
  for (const std::string& metric : metrics) {
    if (has(study, metric)) section.charts.emplace_back(bars_of(study, metric));
  }
}

void add_lines(const StudyRuns& study, const std::string& field,
               const std::vector<std::string>& metrics, Section& section) {
  for (const std::string& metric : metrics) {
    if (has(study, metric)) section.charts.emplace_back(lines_of(study, field, metric));
  }
}

void add_curves(const StudyRuns& study, const std::string& x, const std::string& y,
                Section& section) {
  LineChart chart = curves_of(study, x, y);
  if (!chart.series.empty()) section.charts.emplace_back(std::move(chart));
}

void add_loader(const StudyRuns& study, Section& section) {
  add_lines(study, "workers", {"seconds"}, section);
}

void add_precision(const StudyRuns& study, Section& section) {
  add_curves(study, "epoch", "loss", section);
  add_bars(study, {"seconds", "metric", "peak_bytes", "device_bytes", "device_busy", "busy_cores"},
           section);
}

void add_lora(const StudyRuns& study, Section& section) {
  add_bars(study, {"seconds", "memory_bytes", "metric"}, section);
}

void add_checkpointing(const StudyRuns& study, Section& section) {
  add_lines(study, "segments", {"activation_bytes", "step_ms"}, section);
}

void add_convergence(const StudyRuns& study, Section& section) {
  add_curves(study, "epoch", "loss", section);
  add_curves(study, "seconds", "loss", section);
  add_bars(study, {"seconds", "epoch_seconds"}, section);
}

void add_prepare(const StudyRuns& study, Section& section) {
  add_lines(study, "ranks", {"seconds", "minutes", "records_per_second"}, section);
}

void add_balance(const StudyRuns& study, Section& section) {
  add_bars(study, {"step_ms", "seconds"}, section);
}

void add_small(const StudyRuns& study, Section& section) {
  add_bars(study, {"score", "p50_ms", "peak_bytes", "speed_up"}, section);
}

void add_money(const StudyRuns& study, Section& section) {
  add_bars(study, {"total", "seconds"}, section);
}

void add_explain(const StudyRuns& study, Section& section) {
  add_bars(study, {"seconds", "processor_seconds", "product_seconds"}, section);
}

void add_simulate(const StudyRuns& study, Section& section) {
  add_lines(study, "ranks", {"modelled_step_ms", "modelled_efficiency"}, section);
}

struct Known {
  const char* study;
  void (*add)(const StudyRuns& study, Section& section);
  std::vector<Aim> aims;
};

const std::vector<Known>& known_studies() {
  static const std::vector<Known> list = {
      {"stages", add_stages, {}},
      {"loader", add_loader, {{"seconds", true}}},
      {"precision", add_precision, {{"seconds", true}, {"metric", false}}},
      {"devices", add_devices, {{"seconds", true}}},
      {"lora", add_lora, {{"seconds", true}, {"memory_bytes", true}, {"metric", false}}},
      {"explain", add_explain, {}},
      {"prepare", add_prepare, {{"seconds", true}}},
      {"scale", add_scaling, {{"seconds", true}}},
      {"convergence", add_convergence, {{"seconds", true}}},
      {"balance", add_balance, {{"step_ms", true}}},
      {"checkpointing", add_checkpointing, {{"activation_bytes", true}, {"step_ms", true}}},
      {"money", add_money, {}},
      {"small", add_small, {{"p50_ms", true}, {"score", false}, {"peak_bytes", true}}},
      {"simulate", add_simulate, {}}};
  return list;
}

void add_verdicts(const StudyRuns& study, const std::vector<Aim>& aims, Section& section) {
  for (const Aim& aim : aims) {
    const std::string words = verdict(study, aim.metric, aim.least);
    if (!words.empty()) section.text += (section.text.empty() ? "" : " ") + words;
  }
}

/// Names a line: the fields but one, and the machine where there are several.
std::string line_name(const StudyRuns& study, const CaseRuns& runs, const std::string& field) {
  const std::string label = runs.label_without(field);
  return study.several_machines() ? label + " on " + runs.machine : label;
}

}  // namespace

BarChart bars_of(const StudyRuns& study, const std::string& metric) {
  BarChart bars{.text = {.title = study.name + ": " + metric,
                         .description = "Medians of the repeats of each case.",
                         .x_label = metric,
                         .y_label = "case"},
                .series = {{.name = metric}}};
  for (const CaseRuns& runs : study.cases) {
    bars.categories.push_back(study.label(runs));
    bars.series[0].values.push_back(runs.spread(metric).median);
  }
  return bars;
}

LineChart lines_of(const StudyRuns& study, const std::string& field, const std::string& metric) {
  LineChart chart{.text = {.title = fmt::format("{}: {} by {}", study.name, metric, field),
                           .description = "Medians of the repeats of each case.",
                           .x_label = field,
                           .y_label = metric},
                  .from_zero = true};
  std::map<std::string, std::map<double, double>> lines;
  for (const CaseRuns& runs : study.cases) {
    const double x = runs.number(field);
    const Spread spread = runs.spread(metric);
    if (std::isfinite(x) && spread.count > 0)
      lines[line_name(study, runs, field)][x] = spread.median;
  }
  for (const auto& [name, points] : lines) {
    ChartSeries& series = chart.series.emplace_back(ChartSeries{.name = name});
    for (const auto& [x, y] : points) {
      series.x.push_back(x);
      series.y.push_back(y);
    }
  }
  return chart;
}

LineChart curves_of(const StudyRuns& study, const std::string& x, const std::string& y) {
  LineChart chart{.text = {.title = fmt::format("{}: {} by {}", study.name, y, x),
                           .description = "Of the first repeat of each case.",
                           .x_label = x,
                           .y_label = y}};
  for (const CaseRuns& runs : study.cases) {
    if (runs.curves.empty()) continue;
    const RunCurves& curves = runs.curves.front();
    const auto xs = curves.find(x), ys = curves.find(y);
    if (xs == curves.end() || ys == curves.end()) continue;
    chart.series.push_back({.name = study.label(runs), .x = xs->second, .y = ys->second});
  }
  return chart;
}

void add_study_pictures(const StudyRuns& study, Section& section) {
  for (const Known& known : known_studies()) {
    if (study.name != known.study) continue;
    add_verdicts(study, known.aims, section);
    return known.add(study, section);
  }
  add_bars(study, study.metrics, section);
}

}  // namespace hone::report
