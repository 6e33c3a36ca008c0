#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart_drawing.h"

namespace hone::report {
namespace {

constexpr double kLinePlotHeight = 230;

std::vector<std::string> names_of_series(const LineChart& chart) {
  std::vector<std::string> names;
  for (const ChartSeries& series : chart.series) names.push_back(series.name);
  return names;
}

/// Gives the series as they are drawn: areas lie on those before them.
std::vector<ChartSeries> drawn_series(const LineChart& chart) {
  std::vector<ChartSeries> drawn = chart.series;
  if (!chart.stacked) return drawn;
  for (size_t i = 1; i < drawn.size(); ++i) {
    for (size_t j = 0; j < drawn[i].y.size(); ++j) drawn[i].y[j] += drawn[i - 1].y[j];
  }
  return drawn;
}

Axes axes_of_series(const std::vector<ChartSeries>& drawn, bool from_zero) {
  double left = INFINITY, right = -INFINITY, low = INFINITY, high = -INFINITY;
  bool counts = true;
  for (const ChartSeries& series : drawn) {
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!std::isfinite(series.x[i]) || !std::isfinite(series.y[i])) continue;
      counts &= series.x[i] == std::floor(series.x[i]);
      left = std::min(left, series.x[i]);
      right = std::max(right, series.x[i]);
      low = std::min(low, series.y[i]);
      high = std::max(high, series.y[i]);
    }
  }
  if (!(left <= right)) return {};
  if (from_zero) low = std::min(low, 0.0), high = std::max(high, 0.0);
  const double tall = high > low ? high - low : std::max(std::abs(high), 1e-6);
  const double margin = tall / 20;
  if (right == left) right = left + 1;
  return {left, right, from_zero && low == 0 ? 0 : low - margin, high + margin, {}, counts};
}

/// Gives at most two points for each pixel, the lowest and the highest, so that a million points
/// make a small picture that looks the same.
std::vector<std::pair<double, double>> thinned(const ChartSeries& series, const Axes& axes) {
  std::vector<std::pair<double, double>> points;
  const bool dense = series.x.size() > 2 * static_cast<size_t>(axes.box.right - axes.box.left);
  double column = -1e9;
  for (size_t i = 0; i < series.x.size(); ++i) {
    if (!std::isfinite(series.y[i]) || !std::isfinite(series.x[i])) {
      points.emplace_back(NAN, NAN);
      column = -1e9;
      continue;
    }
    const double x = axes.x(series.x[i]);
    const double y = axes.y(series.y[i]);
    const double here = std::floor(x);
    if (!dense || here != column) {
      points.emplace_back(x, y);
      if (dense) points.emplace_back(x, y);
      column = here;
      continue;
    }
    auto& low = points[points.size() - 2];
    auto& high = points.back();
    if (y < low.second) low = {x, y};
    if (y > high.second) high = {x, y};
  }
  return points;
}

std::string curve_path(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  bool down = false;
  for (const auto& [x, y] : points) {
    if (!std::isfinite(x)) {
      down = false;
      continue;
    }
    path += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", x, y);
    down = true;
  }
  return path;
}

/// Draws an area between a curve and the one below it, which has the same x.
void draw_area(Canvas& canvas, const Axes& axes, const ChartSeries& upper, const ChartSeries* lower,
               size_t index) {
  std::string path = curve_path(thinned(upper, axes));
  ChartSeries base{.name = {}, .x = upper.x, .y = std::vector<double>(upper.x.size(), 0.0)};
  auto below = thinned(lower ? *lower : base, axes);
  std::reverse(below.begin(), below.end());
  for (const auto& [x, y] : below) path += fmt::format("L{:.1f} {:.1f}", x, y);
  canvas.raw(fmt::format("<path class=\"area {}\" d=\"{}Z\"/>\n", series_style(index), path));
}

/// Draws marks at the points of a sparse series, which differ in form from series to series.
void draw_marks(Canvas& canvas, const std::vector<std::pair<double, double>>& points,
                size_t index) {
  for (const auto& [x, y] : points) {
    if (!std::isfinite(x)) continue;
    if (index % 2 == 0) {
      canvas.raw(fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n",
                             series_style(index), x, y));
    } else {
      canvas.raw(
          fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"5\" height=\"5\"/>\n",
                      series_style(index), x - 2.5, y - 2.5));
    }
  }
}

}  // namespace

std::string draw(const LineChart& chart, const SvgOptions& options) {
  std::vector<std::string> names = names_of_series(chart);
  if (chart.stacked && !names.empty()) names.front() += " (lowest)";
  if (names.size() == 1 && names.front() == chart.text.y_label) names.clear();
  const double head = 24 + legend_height(names, options.width);
  Canvas canvas(chart.text, options, head + 26 + kLinePlotHeight + 42);
  draw_legend(canvas, names, 24, chart.stacked);
  const std::vector<ChartSeries> drawn = drawn_series(chart);
  Axes axes = axes_of_series(drawn, chart.from_zero || chart.stacked);
  axes.box = {50, head + 26, options.width - 16, head + 26 + kLinePlotHeight};
  draw_axes(canvas, axes, chart.text);
  for (size_t i = drawn.size(); i-- > 0;) {
    if (chart.stacked) {
      draw_area(canvas, axes, drawn[i], i > 0 ? &drawn[i - 1] : nullptr, i);
      continue;
    }
    const auto points = thinned(drawn[i], axes);
    canvas.raw(
        fmt::format("<path class=\"curve {}\" d=\"{}\"/>\n", series_style(i), curve_path(points)));
    constexpr size_t kSparse = 40;
    if (points.size() <= kSparse) draw_marks(canvas, points, i);
  }
  return canvas.finish();
}

}  // namespace hone::report
