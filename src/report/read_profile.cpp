#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "report/compare.h"
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

std::string text_of(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

/// Gives rows of operations; the one that took most comes first.
std::vector<const Json*> sorted_rows(const Json& profile, const char* name) {
  std::vector<const Json*> sorted;
  const auto rows = profile.find(name);
  if (rows == profile.end() || !rows->is_array()) return sorted;
  for (const Json& row : *rows) {
    if (row.is_object()) sorted.push_back(&row);
  }
  std::ranges::stable_sort(sorted, std::greater<>(), [](const Json* row) {
    return std::pair(number_or_zero(*row, "share"), number_or_zero(*row, "self_s"));
  });
  return sorted;
}

/// Gives the seconds by which operations are judged: those of the device where there is one.
const char* judged_by(const std::vector<const Json*>& rows) {
  const bool device = std::ranges::any_of(
      rows, [](const Json* row) { return number_or_zero(*row, "device_s") > 0; });
  return device ? "device_s" : "self_s";
}

BarChart op_bars(const std::vector<const Json*>& rows) {
  const char* judged = judged_by(rows);
  BarChart bars{.text = {.title = "Operations that took most",
                         .description = "Milliseconds of the operations that took most.",
                         .x_label = "ms",
                         .y_label = "operation"},
                .series = {{.name = "ms"}}};
  constexpr size_t kBars = 15;
  for (const Json* row : rows) {
    if (bars.categories.size() == kBars) break;
    bars.categories.push_back(text_of(*row, "name"));
    bars.series[0].values.push_back(1e3 * number_or_zero(*row, judged));
  }
  return bars;
}

DataTable op_table(const std::vector<const Json*>& rows, bool by_layer) {
  DataTable table{.title = by_layer ? "Operations by layer" : "Operations", .columns = {"name"}};
  if (by_layer) table.columns.emplace_back("layer");
  table.columns.insert(table.columns.end(), {"calls", "self ms", "total ms", "device ms",
                                             "share in %", "GB", "GFLOP", "GFLOP/s", "% of peak"});
  const char* judged = judged_by(rows);
  for (const Json* row : rows) {
    const auto number = [&](const char* name) { return number_or_zero(*row, name); };
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(text_of(*row, "name"));
    if (by_layer) cells.push_back(text_of(*row, "layer"));
    cells.push_back(short_number(number("calls")));
    for (const char* name : {"self_s", "total_s", "device_s"}) {
      cells.push_back(short_number(1e3 * number(name)));
    }
    cells.push_back(short_number(100 * number("share")));
    const double seconds = number(judged), flops = number("flops");
    cells.push_back(short_number(number("bytes") / 1e9));
    cells.push_back(short_number(flops / 1e9));
    cells.push_back(flops > 0 && seconds > 0 ? short_number(flops / seconds / 1e9) : "");
    const double peak = number("share_of_peak");
    cells.push_back(peak > 0 ? short_number(100 * peak) : "");
  }
  return table;
}

/// Gives the window as a flame graph: layers, and in each its operations.
FlameChart flame_of(const std::vector<const Json*>& rows) {
  const char* judged = judged_by(rows);
  struct Layer {
    std::string name;
    double value = 0;
    std::vector<FlameFrame> ops = {};
  };
  std::vector<Layer> layers;
  std::map<std::string, size_t> places;
  double whole = 0;
  for (const Json* row : rows) {
    const double milliseconds = 1e3 * std::max(0.0, number_or_zero(*row, judged));
    if (milliseconds == 0) continue;
    const std::string op = text_of(*row, "name"), layer = text_of(*row, "layer");
    whole += milliseconds;
    if (layer.empty()) {
      layers.push_back({op, milliseconds});
      continue;
    }
    const auto [at, fresh] = places.try_emplace(layer, layers.size());
    if (fresh) layers.push_back({layer});
    layers[at->second].value += milliseconds;
    layers[at->second].ops.push_back({op, 2, milliseconds});
  }
  std::ranges::stable_sort(layers, std::greater<>(), &Layer::value);
  FlameChart flame{.text = {.title = "Flame graph of the window",
                            .description = "Layers by the time that they took, and their "
                                           "operations below them."},
                   .unit = "ms"};
  flame.frames.push_back({"window", 0, whole});
  for (const Layer& layer : layers) {
    flame.frames.push_back({layer.name, 1, layer.value});
    flame.frames.insert(flame.frames.end(), layer.ops.begin(), layer.ops.end());
  }
  return flame;
}

void add_ops(const Json& profile, Section& section) {
  const std::vector<const Json*> ops = sorted_rows(profile, "ops");
  const std::vector<const Json*> layers = sorted_rows(profile, "layers");
  if (!ops.empty()) {
    section.charts.emplace_back(op_bars(ops));
    section.tables.push_back(op_table(ops, false));
  }
  if (!layers.empty()) {
    section.charts.emplace_back(flame_of(layers));
    section.tables.push_back(op_table(layers, true));
  }
}

/// Adds the moments in which a device had nothing to do, with what the host did.
void add_gaps(const Json& profile, Section& section) {
  const auto gaps = profile.find("idle_gaps");
  if (gaps == profile.end() || !gaps->is_array() || gaps->empty()) return;
  DataTable table{.title = "Gaps of the device", .columns = {"at s", "ms", "cause"}};
  for (const Json& gap : *gaps) {
    if (!gap.is_object()) continue;
    table.rows.push_back({short_number(number_or_zero(gap, "at_s")),
                          short_number(1e3 * number_or_zero(gap, "seconds")),
                          text_of(gap, "cause")});
  }
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
    bars.categories.push_back(spoken(name));
    bars.series[0].values.push_back(value.get<double>() / 1e6);
  }
  if (!bars.categories.empty()) section.charts.emplace_back(std::move(bars));
}

/// Adds a curve for each number of samples over time: [{"seconds":0.1,"resident_bytes":...}].
void add_samples(const Json& samples, Section& section) {
  if (!samples.is_array() || samples.empty() || !samples.front().is_object()) return;
  for (const auto& [name, first] : samples.front().items()) {
    if (!first.is_number() || name == "seconds") continue;
    const bool bytes = name.ends_with("_bytes");
    LineChart chart{.text = {.title = capitalized(spoken(name)) + " over time",
                             .description = "Samples taken while the command ran.",
                             .x_label = "s",
                             .y_label = spoken(name)},
                    .series = {{.name = spoken(name)}},
                    .from_zero = true};
    for (const Json& sample : samples) {
      if (!sample.is_object()) continue;
      chart.series[0].x.push_back(number_or_zero(sample, "seconds"));
      chart.series[0].y.push_back(number_or_zero(sample, name.c_str()) / (bytes ? 1e6 : 1));
    }
    section.charts.emplace_back(std::move(chart));
  }
}

/// Adds a profile's section, and gives its seconds by name for a comparison. One of several has its
/// name in all titles.
DataTable add_profile(const Source& source, bool alone, Report& report) {
  const std::string path = source.folder + "/profile.json";
  const Json profile = parse_json(read_file(path), path);
  if (!profile.is_object()) fail(ErrorKind::bad_file, "{}: is no object", path);
  const JsonFields fields(profile, path);
  const double wall = fields.number("wall_s");
  const Json& stages = fields.at("stages");
  if (!stages.is_object()) fields.fail_field("stages", "is no object");
  Section section{.heading = "Profile of " + source.name, .run = source.name};
  PieChart pie = stage_pie(stages, wall, "Where the time went");
  DataTable seconds{
      .title = "Seconds", .columns = {"name", "s"}, .rows = {{"wall", short_number(wall)}}};
  for (const PieSlice& stage : pie.slices) {
    seconds.rows.push_back({"stage " + stage.name, short_number(stage.value)});
  }
  const std::vector<const Json*> ops = sorted_rows(profile, "ops");
  for (const Json* op : ops) {
    seconds.rows.push_back(
        {"operation " + text_of(*op, "name"), short_number(number_or_zero(*op, judged_by(ops)))});
  }
  section.charts.emplace_back(std::move(pie));
  add_ops(profile, section);
  add_gaps(profile, section);
  if (const auto memory = profile.find("memory"); memory != profile.end() && memory->is_object()) {
    add_memory(*memory, section);
  }
  if (const auto samples = profile.find("samples"); samples != profile.end()) {
    add_samples(*samples, section);
  }
  const std::string of_run = alone ? "" : ": " + source.name;
  for (Chart& chart : section.charts) {
    std::visit([&](auto& kind) { kind.text.title += of_run; }, chart);
  }
  for (DataTable& table : section.tables) table.title += of_run;
  report.sections.push_back(std::move(section));
  return seconds;
}

}  // namespace

void add_profiles(const std::vector<Source>& profiles, Report& report) {
  const auto place = static_cast<std::ptrdiff_t>(report.sections.size());
  std::vector<std::string> names;
  std::vector<DataTable> tables;
  for (const Source& source : profiles) {
    names.push_back(source.name);
    tables.push_back(add_profile(source, profiles.size() == 1, report));
  }
  if (tables.size() < 2) return;
  Section compared{.heading = "Profiles side by side"};
  compared.tables.push_back(side_by_side("Seconds of all profiles", names, tables));
  report.sections.insert(report.sections.begin() + place, std::move(compared));
}

}  // namespace hone::report
