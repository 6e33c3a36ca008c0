#include "report/read_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "report/compare.h"
#include "report/json_lines_file.h"

namespace hone::report {
namespace {

constexpr double kMegabyte = 1e6;

/// The values of a run's log by name, in the order in which they appeared.
struct Curves {
  std::vector<std::string> order;
  std::map<std::string, ChartSeries> series;
};

void add_point(Curves& curves, const std::string& name, double x, double y) {
  auto [at, fresh] = curves.series.try_emplace(name, ChartSeries{.name = name});
  if (fresh) curves.order.push_back(name);
  at->second.x.push_back(x);
  at->second.y.push_back(y);
}

Curves read_curves(const std::string& path) {
  Curves curves;
  double last_step = NAN, last_seconds = NAN;
  for (const Json& line : read_json_lines(path)) {
    const auto found = line.find("step");
    if (found == line.end() || !found->is_number()) continue;
    const double step = found->get<double>();
    for (const auto& [name, value] : line.items()) {
      if (name == "step" || name == "epoch" || !(value.is_number() || value.is_null())) continue;
      const double number = value.is_null() ? NAN : value.get<double>();
      if (name == "seconds") {
        // The log counts them from the run's begin; what one looks for is how fast it goes.
        if (step > last_step && number > last_seconds) {
          add_point(curves, "steps_a_second", step, (step - last_step) / (number - last_seconds));
        }
        last_step = step;
        last_seconds = number;
      } else {
        add_point(curves, name, step, name.ends_with("_bytes") ? number / kMegabyte : number);
      }
    }
  }
  return curves;
}

/// Gives the picture that a value of the log belongs to; none for what is said once at the end.
std::string picture_of(const std::string& name) {
  if (name == "loss" || name == "eval_loss") return "loss";
  if (name.starts_with("train_") || name == "waiting_share") return {};
  if (name.ends_with("_runtime") || name.ends_with("_samples") || name.ends_with("_per_second")) {
    return {};
  }
  if (name.starts_with("eval_")) return "evaluation";
  return name;
}

/// Adds the numbers of one object as rows; objects inside it by "outer.inner".
void add_rows(const Json& object, const std::string& prefix, DataTable& table) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      add_rows(value, prefix + name + ".", table);
    } else if (value.is_number()) {
      table.rows.push_back({prefix + name, short_number(value.get<double>())});
    } else if (value.is_string() || value.is_boolean()) {
      table.rows.push_back(
          {prefix + name, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
}

/// Gives where the time of a run went; what `other` names inside is not counted twice.
PieChart stages_of(const Json& seconds, const std::string& run) {
  PieChart pie{.text = {.title = "Where the time went" + (run.empty() ? "" : ": " + run),
                        .description = "Seconds of each stage of the run."},
               .unit = "s"};
  double inside_other = 0;
  for (const char* name : {"loading", "forward", "backward", "evaluation"}) {
    if (seconds.contains(name) && seconds[name].is_number()) {
      pie.slices.push_back({name, seconds[name].get<double>()});
    }
  }
  for (const char* name : {"optimizer", "checkpoint", "communication", "logging"}) {
    if (!seconds.contains(name) || !seconds[name].is_number()) continue;
    pie.slices.push_back({std::string("other: ") + name, seconds[name].get<double>()});
    inside_other += seconds[name].get<double>();
  }
  if (seconds.contains("other") && seconds["other"].is_number()) {
    pie.slices.push_back(
        {"other: rest", std::max(0.0, seconds["other"].get<double>() - inside_other)});
  }
  return pie;
}

BarChart memory_of(const Json& bytes, const std::string& run) {
  BarChart bars{.text = {.title = "Memory" + (run.empty() ? "" : ": " + run),
                         .description = "Megabytes of each kind of memory.",
                         .x_label = "MB",
                         .y_label = "kind"},
                .series = {{.name = "MB"}}};
  for (const auto& [name, value] : bytes.items()) {
    if (!value.is_number()) continue;
    bars.categories.push_back(spoken(name));
    bars.series[0].values.push_back(value.get<double>() / kMegabyte);
  }
  return bars;
}

/// Adds what a run ended with, and gives its table; none where it has not ended.
std::optional<DataTable> add_results(const Source& run, bool alone, Report& report) {
  const std::string path = run.folder + "/all_results.json";
  if (!file_exists(path)) return std::nullopt;
  const Json results = parse_json(read_file(path), path);
  if (!results.is_object()) fail(ErrorKind::bad_file, "{}: is no object", path);
  const std::string name = alone ? "" : run.name;
  Section section{.heading = alone ? "Results" : "Results of " + run.name, .run = name};
  if (results.contains("seconds") && results["seconds"].is_object()) {
    section.charts.emplace_back(stages_of(results["seconds"], name));
  }
  if (results.contains("memory_bytes") && results["memory_bytes"].is_object()) {
    section.charts.emplace_back(memory_of(results["memory_bytes"], name));
  }
  DataTable table{.title = alone ? "All results" : "All results of " + run.name,
                  .columns = {"name", "value"}};
  add_rows(results, "", table);
  section.tables.push_back(table);
  report.sections.push_back(std::move(section));
  return table;
}

}  // namespace

std::string spoken(std::string name) {
  std::ranges::replace(name, '_', ' ');
  if (name.ends_with(" bytes")) name.replace(name.size() - 5, 5, "MB");
  return name;
}

std::string capitalized(std::string words) {
  if (!words.empty() && words[0] >= 'a' && words[0] <= 'z')
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
  return words;
}

void add_runs(const std::vector<Source>& runs, Report& report) {
  std::vector<std::string> order;
  std::map<std::string, LineChart> pictures;
  for (const Source& run : runs) {
    const std::string path = run.folder + "/log.jsonl";
    if (!file_exists(path)) continue;
    Curves curves = read_curves(path);
    for (const std::string& name : curves.order) {
      const std::string picture = picture_of(name);
      if (picture.empty()) continue;
      auto [at, fresh] = pictures.try_emplace(picture);
      LineChart& chart = at->second;
      if (fresh) {
        order.push_back(picture);
        chart.text = {.title = capitalized(spoken(picture)) + " by step",
                      .description = "Values that the run logged, by step.",
                      .x_label = "step",
                      .y_label = spoken(picture)};
      }
      ChartSeries series = std::move(curves.series[name]);
      series.name = runs.size() == 1 ? spoken(name) : run.name + ": " + spoken(name);
      chart.series.push_back(std::move(series));
    }
  }
  if (!order.empty()) {
    Section section{.heading = "Training"};
    // What people look for first comes first.
    for (const char* first : {"evaluation", "loss"}) {
      const auto at = std::find(order.begin(), order.end(), first);
      if (at != order.end()) std::rotate(order.begin(), at, at + 1);
    }
    for (const std::string& name : order) section.charts.emplace_back(std::move(pictures[name]));
    report.sections.push_back(std::move(section));
  }
  const auto results = static_cast<std::ptrdiff_t>(report.sections.size());
  std::vector<std::string> names;
  std::vector<DataTable> tables;
  for (const Source& run : runs) {
    std::optional<DataTable> table = add_results(run, runs.size() == 1, report);
    if (!table) continue;
    names.push_back(run.name);
    tables.push_back(std::move(*table));
  }
  if (tables.size() < 2) return;
  Section compared{.heading = "Runs side by side"};
  compared.tables.push_back(side_by_side("Results of all runs", names, tables));
  report.sections.insert(report.sections.begin() + results, std::move(compared));
}

}  // namespace hone::report
