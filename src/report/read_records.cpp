#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "report/json_lines_file.h"
#include "report/read_run.h"

namespace hone::report {
namespace {

constexpr int64_t kNewestRecords = 1;

/// The runs of one case of a study on one machine.
struct CaseRuns {
  std::string label;
  std::string machine;
  std::map<std::string, std::vector<double>> metrics = {};
  std::string status = "ok";
};

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string label_of(const Json& fields) {
  if (!fields.is_object()) return text_of_value(fields);
  std::string label;
  for (const auto& [name, value] : fields.items()) {
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", name, text_of_value(value));
  }
  return label.empty() ? "all" : label;
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Gives "3.1 (3 to 3.3)", the median with the least and the largest.
std::string with_spread(const std::vector<double>& values) {
  if (values.size() < 2) return values.empty() ? "" : short_number(values[0]);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{} ({} to {})", short_number(median(values)), short_number(*low),
                     short_number(*high));
}

/// One study: its cases in the order of their first record, and names of metrics.
struct Study {
  std::vector<CaseRuns> cases;
  std::vector<std::string> metrics;

  CaseRuns& find(const std::string& label, const std::string& machine) {
    for (CaseRuns& each : cases) {
      if (each.label == label && each.machine == machine) return each;
    }
    cases.push_back({.label = label, .machine = machine});
    return cases.back();
  }
};

void add_record(const Json& record, const std::string& path, size_t line, Study& study) {
  const Json fields = record.value("case", Json::object());
  std::string machine;
  if (record.contains("machine") && record["machine"].is_object()) {
    machine = text_of_value(record["machine"].value("processor", Json("")));
    if (machine == "\"\"") machine.clear();
  }
  CaseRuns& runs = study.find(label_of(fields), machine);
  const std::string status = text_of_value(record.value("status", Json("ok")));
  if (status != "ok") {
    runs.status = status;
    if (record.contains("why")) runs.status += ": " + text_of_value(record["why"]);
    return;
  }
  const auto metrics = record.find("metrics");
  if (metrics == record.end() || !metrics->is_object()) {
    fail(ErrorKind::bad_file, "{}: line {}: metrics: missing", path, line);
  }
  for (const auto& [name, value] : metrics->items()) {
    if (!value.is_number()) continue;
    if (std::find(study.metrics.begin(), study.metrics.end(), name) == study.metrics.end()) {
      study.metrics.push_back(name);
    }
    runs.metrics[name].push_back(value.get<double>());
  }
}

Section section_of(const std::string& name, const Study& study) {
  Section section{.heading = "Study: " + name};
  const bool several = std::any_of(
      study.cases.begin(), study.cases.end(),
      [&](const CaseRuns& each) { return each.machine != study.cases.front().machine; });
  if (several) section.text = "Records of several machines are shown apart and not averaged.";
  DataTable table{.title = name + ": medians with the least and the largest", .columns = {"case"}};
  if (several) table.columns.emplace_back("machine");
  table.columns.insert(table.columns.end(), study.metrics.begin(), study.metrics.end());
  table.columns.emplace_back("status");
  std::vector<std::string> labels;
  for (const CaseRuns& runs : study.cases) {
    labels.push_back(several ? runs.label + " on " + runs.machine : runs.label);
    table.rows.push_back({runs.label});
    if (several) table.rows.back().push_back(runs.machine);
    for (const std::string& metric : study.metrics) {
      const auto values = runs.metrics.find(metric);
      table.rows.back().push_back(values == runs.metrics.end() ? "" : with_spread(values->second));
    }
    table.rows.back().push_back(runs.status);
  }
  for (const std::string& metric : study.metrics) {
    BarChart bars{.text = {.title = name + ": " + metric,
                           .description = "Medians of the repeats of each case.",
                           .x_label = metric,
                           .y_label = "case"},
                  .categories = labels,
                  .series = {{.name = metric}}};
    for (const CaseRuns& runs : study.cases) {
      const auto values = runs.metrics.find(metric);
      bars.series[0].values.push_back(values == runs.metrics.end() ? NAN : median(values->second));
    }
    section.charts.emplace_back(std::move(bars));
  }
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace

void add_records(const Source& source, Report& report) {
  const std::string path = source.folder + "/records.jsonl";
  std::vector<std::string> order;
  std::map<std::string, Study> studies;
  size_t line = 0;
  for (const Json& record : read_json_lines(path)) {
    ++line;
    const Json format = record.value("format", Json(kNewestRecords));
    if (!format.is_number_integer() || format.get<int64_t>() > kNewestRecords) {
      fail(ErrorKind::bad_file, "{}: line {}: format: {} is newer than this version reads ({})",
           path, line, format.dump(), kNewestRecords);
    }
    const auto name = record.find("study");
    if (name == record.end() || !name->is_string()) {
      fail(ErrorKind::bad_file, "{}: line {}: study: missing", path, line);
    }
    const auto [at, fresh] = studies.try_emplace(name->get<std::string>());
    if (fresh) order.push_back(at->first);
    add_record(record, path, line, at->second);
  }
  for (const std::string& name : order) report.sections.push_back(section_of(name, studies[name]));
}

}  // namespace hone::report
