#include "report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart_drawing.h"

namespace hone::report {
namespace {

/// Gives row numbers below `count`, at most `rows` of them, evenly, the last one included.
std::vector<size_t> chosen_rows(size_t count, size_t rows) {
  std::vector<size_t> chosen;
  if (count <= rows) rows = count;
  for (size_t i = 0; i < rows; ++i) {
    chosen.push_back(rows == 1 ? 0 : i * (count - 1) / (rows - 1));
  }
  return chosen;
}

std::string name_or(const std::string& name, const char* other) {
  return name.empty() ? other : name;
}

DataTable data(const LineChart& chart, size_t rows) {
  DataTable table{.title = chart.text.title,
                  .columns = {"series", name_or(chart.text.x_label, "x"),
                              name_or(chart.text.y_label, "value")}};
  for (const ChartSeries& series : chart.series) {
    for (const size_t i : chosen_rows(series.x.size(), rows)) {
      table.rows.push_back({series.name, short_number(series.x[i]), short_number(series.y[i])});
    }
  }
  return table;
}

DataTable data(const BarChart& chart, size_t rows) {
  DataTable table{.title = chart.text.title, .columns = {name_or(chart.text.y_label, "name")}};
  for (const BarSeries& series : chart.series) table.columns.push_back(series.name);
  for (size_t i = 0; i < std::min(rows, chart.categories.size()); ++i) {
    table.rows.push_back({chart.categories[i]});
    for (const BarSeries& series : chart.series) {
      table.rows.back().push_back(short_number(series.values[i]));
    }
  }
  return table;
}

DataTable data(const PieChart& chart, size_t rows) {
  double total = 0;
  for (const PieSlice& slice : chart.slices) total += slice.value;
  DataTable table{.title = chart.text.title,
                  .columns = {"part", name_or(chart.unit, "value"), "share in %"}};
  for (size_t i = 0; i < std::min(rows, chart.slices.size()); ++i) {
    const PieSlice& slice = chart.slices[i];
    table.rows.push_back({slice.name, short_number(slice.value),
                          short_number(total > 0 ? 100 * slice.value / total : 0)});
  }
  return table;
}

DataTable data(const ScatterChart& chart, size_t rows) {
  DataTable table{
      .title = chart.text.title,
      .columns = {"name", name_or(chart.text.x_label, "x"), name_or(chart.text.y_label, "y")}};
  for (const size_t i : chosen_rows(chart.points.size(), rows)) {
    const ChartPoint& point = chart.points[i];
    table.rows.push_back({point.label, short_number(point.x), short_number(point.y)});
  }
  return table;
}

DataTable data(const FlameChart& chart, size_t rows) {
  DataTable table{.title = chart.text.title,
                  .columns = {"frame", name_or(chart.unit, "value"), "share in %"}};
  double total = 0;
  for (const FlameFrame& frame : chart.frames) total += frame.depth == 0 ? frame.value : 0;
  std::vector<std::string> path;
  for (const FlameFrame& frame : chart.frames) {
    if (table.rows.size() >= rows) break;
    path.resize(std::min(path.size(), frame.depth));
    path.push_back(frame.name);
    table.rows.push_back({fmt::format("{}", fmt::join(path, " / ")), short_number(frame.value),
                          short_number(total > 0 ? 100 * frame.value / total : 0)});
  }
  return table;
}

}  // namespace

std::string to_svg(const Chart& chart, const SvgOptions& options) {
  return std::visit([&](const auto& kind) { return draw(kind, options); }, chart);
}

const ChartText& text_of(const Chart& chart) {
  return std::visit([](const auto& kind) -> const ChartText& { return kind.text; }, chart);
}

DataTable data_of(const Chart& chart, size_t rows) {
  return std::visit([&](const auto& kind) { return data(kind, rows); }, chart);
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return {};
  if (std::abs(value) >= 1e4 && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value + 0.0);
}

}  // namespace hone::report
