#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "report/read_run.h"

namespace hone::report {
namespace {

double number_or_zero(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_number() ? at->get<double>() : 0;
}

PieChart stage_pie(const Json& stages, double wall, const std::string& title) {
  PieChart pie{
      .text = {.title = title, .description = fmt::format("Stages of {} s.", short_number(wall))},
      .unit = "s"};
  for (const char* name : {"loading", "forward", "backward", "evaluation"}) {
    pie.slices.push_back({name, std::max(0.0, number_or_zero(stages, name))});
  }
  const auto other = stages.find("other");
  if (other == stages.end()) return pie;
  if (other->is_number()) pie.slices.push_back({"other", std::max(0.0, other->get<double>())});
  if (!other->is_object()) return pie;
  for (const auto& [name, value] : other->items()) {
    if (value.is_number()) {
      pie.slices.push_back({"other: " + name, std::max(0.0, value.get<double>())});
    }
  }
  return pie;
}

void add_ops(const Json& ops, Section& section) {
  std::vector<const Json*> sorted;
  for (const Json& op : ops) {
    if (op.is_object()) sorted.push_back(&op);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Json* a, const Json* b) {
    return number_or_zero(*a, "self_s") > number_or_zero(*b, "self_s");
  });
  BarChart bars{.text = {.title = "Operations that took most",
                         .description = "Seconds of the operations that took most.",
                         .x_label = "s",
                         .y_label = "operation"},
                .series = {{.name = "self s"}}};
  DataTable table{.title = "Operations",
                  .columns = {"name", "calls", "self s", "total s", "device s", "share in %", "GB",
                              "GFLOP", "GFLOP/s"}};
  constexpr size_t kBars = 15;
  for (const Json* op : sorted) {
    const std::string name = op->value("name", Json("")).is_string()
                                 ? op->value("name", Json("")).get<std::string>()
                                 : "";
    const double self = number_or_zero(*op, "self_s");
    const double device = number_or_zero(*op, "device_s");
    const double flops = number_or_zero(*op, "flops");
    const double seconds = device > 0 ? device : self;
    if (bars.categories.size() < kBars) {
      bars.categories.push_back(name);
      bars.series[0].values.push_back(self);
    }
    table.rows.push_back({name, short_number(number_or_zero(*op, "calls")), short_number(self),
                          short_number(number_or_zero(*op, "total_s")), short_number(device),
                          short_number(100 * number_or_zero(*op, "share")),
                          short_number(number_or_zero(*op, "bytes") / 1e9),
                          short_number(flops / 1e9),
                          seconds > 0 ? short_number(flops / seconds / 1e9) : ""});
  }
  section.charts.emplace_back(std::move(bars));
  section.tables.push_back(std::move(table));
}

void add_memory(const Json& memory, Section& section) {
  BarChart bars{.text = {.title = "Memory by kind",
                         .description = "Megabytes that each kind of memory took.",
                         .x_label = "MB",
                         .y_label = "kind"},
                .series = {{.name = "MB"}}};
  for (const auto& [name, value] : memory.items()) {
    if (!value.is_number()) continue;
    bars.categories.push_back(name);
    bars.series[0].values.push_back(value.get<double>() / 1e6);
  }
  if (!bars.categories.empty()) section.charts.emplace_back(std::move(bars));
}

/// Adds a curve for each number of samples over time: [{"seconds":0.1,"resident_bytes":...}].
void add_samples(const Json& samples, Section& section) {
  if (!samples.is_array() || samples.empty() || !samples.front().is_object()) return;
  for (const auto& [name, first] : samples.front().items()) {
    if (!first.is_number() || name == "seconds") continue;
    const bool bytes = name.find("bytes") != std::string::npos;
    const std::string unit = bytes ? name + ", MB" : name;
    LineChart chart{.text = {.title = name + " over time",
                             .description = "Samples taken while the command ran.",
                             .x_label = "s",
                             .y_label = unit},
                    .series = {{.name = unit}},
                    .from_zero = true};
    for (const Json& sample : samples) {
      if (!sample.is_object()) continue;
      chart.series[0].x.push_back(number_or_zero(sample, "seconds"));
      chart.series[0].y.push_back(number_or_zero(sample, name.c_str()) / (bytes ? 1e6 : 1));
    }
    section.charts.emplace_back(std::move(chart));
  }
}

}  // namespace

void add_profile(const Source& source, Report& report) {
  const std::string path = source.folder + "/profile.json";
  const Json profile = parse_json(read_file(path), path);
  if (!profile.is_object()) fail(ErrorKind::bad_file, "{}: is no object", path);
  const JsonFields fields(profile, path);
  const double wall = fields.number("wall_s");
  const Json& stages = fields.at("stages");
  if (!stages.is_object()) fields.fail_field("stages", "is no object");
  Section section{.heading = "Profile of " + source.name};
  section.charts.emplace_back(stage_pie(stages, wall, "Where the time went"));
  if (const auto ops = profile.find("ops"); ops != profile.end() && ops->is_array()) {
    add_ops(*ops, section);
  }
  if (const auto memory = profile.find("memory"); memory != profile.end() && memory->is_object()) {
    add_memory(*memory, section);
  }
  if (const auto samples = profile.find("samples"); samples != profile.end()) {
    add_samples(*samples, section);
  }
  report.sections.push_back(std::move(section));
}

}  // namespace hone::report
