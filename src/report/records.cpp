#include "report/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart.h"
#include "report/json_lines_file.h"

namespace hone::report {
namespace {

constexpr size_t kRepeatsThatTell = 3;

std::string text_of_value(const Json& value) {
  if (value.is_number_float()) return short_number(value.get<double>());
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string label_of(const Json& fields, const std::string& left_out) {
  if (!fields.is_object()) return text_of_value(fields);
  std::string label;
  for (const auto& [name, value] : fields.items()) {
    if (name == left_out) continue;
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", name, text_of_value(value));
  }
  return label.empty() ? "all" : label;
}

/// Gives what tells machines apart: records of two are never averaged.
std::string machine_of(const Json& record, bool& published) {
  const auto machine = record.find("machine");
  if (machine == record.end() || !machine->is_object()) return {};
  const auto source = machine->find("published");
  published = source != machine->end();
  if (published) return "published: " + text_of_value(*source);
  std::string name;
  for (const char* field : {"processor", "cores", "gpu"}) {
    const auto value = machine->find(field);
    if (value == machine->end() || value->is_null()) continue;
    const bool counts = std::string_view(field) == "cores";
    name += (name.empty() ? "" : ", ") + text_of_value(*value) + (counts ? " cores" : "");
  }
  return name;
}

RunCurves curves_of(const Json& record, const std::string& place) {
  RunCurves curves;
  const auto found = record.find("curves");
  if (found == record.end()) return curves;
  if (!found->is_object()) fail(ErrorKind::bad_file, "{}: curves: is no object", place);
  size_t length = 0;
  for (const auto& [name, values] : found->items()) {
    if (!values.is_array()) fail(ErrorKind::bad_file, "{}: curves.{}: is no list", place, name);
    std::vector<double>& numbers = curves[name];
    for (const Json& value : values) {
      numbers.push_back(value.is_number() ? value.get<double>() : NAN);
    }
    if (curves.size() > 1 && numbers.size() != length) {
      fail(ErrorKind::bad_file, "{}: curves.{}: expected {} values, got {}", place, name, length,
           numbers.size());
    }
    length = numbers.size();
  }
  return curves;
}

CaseRuns& find_case(StudyRuns& study, const Json& fields, const std::string& machine) {
  for (CaseRuns& each : study.cases) {
    if (each.fields == fields && each.machine == machine) return each;
  }
  study.cases.push_back({.fields = fields, .machine = machine});
  return study.cases.back();
}

StudyRuns& find_study(std::vector<StudyRuns>& studies, const std::string& name) {
  for (StudyRuns& each : studies) {
    if (each.name == name) return each;
  }
  studies.push_back({.name = name});
  return studies.back();
}

}  // namespace

void check_record_format(const Json& record, const std::string& place) {
  const Json format = record.value("format", Json(kNewestRecords));
  if (!format.is_number_integer() || format.get<int64_t>() > kNewestRecords) {
    fail(ErrorKind::bad_file, "{}: format: {} is newer than this version reads ({})", place,
         format.dump(), kNewestRecords);
  }
}

std::string Spread::text() const {
  if (count == 0 || low == high) return count == 0 ? "" : short_number(median);
  return fmt::format("{} ({} to {})", short_number(median), short_number(low), short_number(high));
}

Spread spread_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {NAN, NAN, NAN, 0};
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  const double median = values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back(), values.size()};
}

std::string CaseRuns::label() const { return label_of(fields, ""); }

std::string CaseRuns::label_without(const std::string& field) const {
  return label_of(fields, field);
}

Spread CaseRuns::spread(const std::string& metric) const {
  const auto values = metrics.find(metric);
  return spread_of(values == metrics.end() ? std::vector<double>() : values->second);
}

double CaseRuns::number(const std::string& field) const {
  if (!fields.is_object()) return NAN;
  const auto value = fields.find(field);
  return value != fields.end() && value->is_number() ? value->get<double>() : NAN;
}

std::string CaseRuns::text(const std::string& field) const {
  if (!fields.is_object()) return {};
  const auto value = fields.find(field);
  return value == fields.end() ? std::string() : text_of_value(*value);
}

bool StudyRuns::several_machines() const {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const CaseRuns& each) { return each.machine != cases.front().machine; });
}

std::string StudyRuns::label(const CaseRuns& runs) const {
  return several_machines() ? runs.label() + " on " + runs.machine : runs.label();
}

void add_record(const Json& record, const std::string& place, std::vector<StudyRuns>& studies) {
  check_record_format(record, place);
  const auto name = record.find("study");
  if (name == record.end() || !name->is_string()) {
    fail(ErrorKind::bad_file, "{}: study: missing", place);
  }
  StudyRuns& study = find_study(studies, name->get<std::string>());
  bool published = false;
  const std::string machine = machine_of(record, published);
  CaseRuns& runs = find_case(study, record.value("case", Json::object()), machine);
  runs.published = published;
  const std::string status = text_of_value(record.value("status", Json("ok")));
  if (status != "ok") {
    runs.status = status;
    const auto why = record.find("why");
    if (why != record.end()) runs.status += ": " + text_of_value(*why);
    return;
  }
  const auto metrics = record.find("metrics");
  if (metrics == record.end() || !metrics->is_object()) {
    fail(ErrorKind::bad_file, "{}: metrics: missing", place);
  }
  for (const auto& [metric, value] : metrics->items()) {
    if (!value.is_number()) continue;
    if (std::find(study.metrics.begin(), study.metrics.end(), metric) == study.metrics.end()) {
      study.metrics.push_back(metric);
    }
    runs.metrics[metric].push_back(value.get<double>());
  }
  RunCurves curves = curves_of(record, place);
  if (!curves.empty()) runs.curves.push_back(std::move(curves));
}

std::vector<StudyRuns> read_records(const std::vector<std::string>& paths) {
  std::vector<StudyRuns> studies;
  for (const std::string& path : paths) {
    size_t line = 0;
    for (const Json& record : read_json_lines(path)) {
      add_record(record, fmt::format("{}: line {}", path, ++line), studies);
    }
  }
  return studies;
}

std::string verdict(const StudyRuns& study, const std::string& metric, bool least) {
  const CaseRuns* best = nullptr;
  std::vector<const CaseRuns*> measured;
  for (const CaseRuns& runs : study.cases) {
    if (runs.published || runs.spread(metric).count == 0) continue;
    measured.push_back(&runs);
    const double here = runs.spread(metric).median;
    const double there = best ? best->spread(metric).median : here;
    if (!best || (least ? here < there : here > there)) best = &runs;
  }
  if (measured.size() < 2) return {};
  const Spread winner = best->spread(metric);
  for (const CaseRuns* runs : measured) {
    const Spread other = runs->spread(metric);
    if (runs->machine != best->machine) {
      return metric + ": no case is named best, since the records are of several machines.";
    }
    if (other.count < kRepeatsThatTell) {
      return fmt::format("{}: no case is named best, since {} has fewer than {} repeats.", metric,
                         runs->label(), kRepeatsThatTell);
    }
    if (runs != best && (least ? winner.high >= other.low : winner.low <= other.high)) {
      return fmt::format("{}: no case is named best, since the spreads of {} and {} overlap.",
                         metric, best->label(), runs->label());
    }
  }
  return fmt::format("{}: {} has the {}, {}.", metric, best->label(), least ? "least" : "largest",
                     winner.text());
}

}  // namespace hone::report
