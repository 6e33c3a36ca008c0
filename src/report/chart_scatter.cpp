#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/chart_drawing.h"

namespace hone::report {
namespace {

constexpr double kScatterPlotHeight = 300;

Axes axes_of_points(const ScatterChart& chart) {
  if (chart.points.empty()) return {};
  const auto [left, right] =
      std::minmax_element(chart.points.begin(), chart.points.end(),
                          [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  const auto [low, high] =
      std::minmax_element(chart.points.begin(), chart.points.end(),
                          [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
  const double side = std::max(chart.least_width, right->x - left->x) / 10;
  const double top = std::max(chart.least_height, high->y - low->y) / 10;
  const double least = left->x < 0 ? left->x - side : std::max(0.0, left->x - side);
  return {least, right->x + side, low->y - top, high->y + top};
}

/// Finds places for labels that touch neither one another nor a point nor the stairs.
class LabelPlaces {
 public:
  LabelPlaces(const ScatterChart& chart, const Axes& axes) : frame_(axes.box) {
    for (const ChartPoint& point : chart.points) {
      const double x = axes.x(point.x), y = axes.y(point.y), r = point.radius;
      taken_.push_back({x - r, y - r, x + r, y + r});
    }
    // The stairs are 2 pixels side.
    double below = axes.box.bottom;
    for (size_t i = 0; i < chart.front.size(); ++i) {
      const double x = axes.x(chart.front[i].first), y = axes.y(chart.front[i].second);
      const bool last = i + 1 == chart.front.size();
      taken_.push_back({x - 1, y, x + 1, below});
      taken_.push_back({x, y - 1, last ? axes.box.right : axes.x(chart.front[i + 1].first), y + 1});
      below = y;
    }
  }

  /// Gives the nearest free place of a text around a point; none where the picture is full.
  std::optional<Box> place(double x, double y, double radius, const std::string& text) {
    const double width = text_width(text), height = kLineHeight - 3;
    std::optional<Box> best;
    double nearest = INFINITY;
    for (double away = radius + 3; away < kScatterPlotHeight; away += 6) {
      if (away * away >= nearest) break;
      constexpr int kDirections = 24;
      for (int i = 0; i < kDirections; ++i) {
        const double angle = 2 * M_PI * i / kDirections;
        const double dx = std::cos(angle), dy = std::sin(angle);
        // The box's nearest edge is `away` from the point.
        const double left = x + away * dx - (dx > 0.3 ? 0 : dx < -0.3 ? width : width / 2);
        const double top = y + away * dy - (dy > 0.3 ? 0 : dy < -0.3 ? height : height / 2);
        const Box box{left, top, left + width, top + height};
        if (!is_free(box)) continue;
        const double cost = away * away * (dx > 0.9 ? 0.9 : 1);
        if (cost < nearest) best = box, nearest = cost;
      }
    }
    if (best) taken_.push_back(*best);
    return best;
  }

 private:
  bool is_free(const Box& box) const {
    return box.left >= frame_.left && box.right <= frame_.right && box.top >= frame_.top &&
           box.bottom <= frame_.bottom &&
           std::none_of(taken_.begin(), taken_.end(),
                        [&](const Box& other) { return box.meets(other); });
  }
  Box frame_;
  std::vector<Box> taken_;
};

void draw_stairs(Canvas& canvas, const ScatterChart& chart, const Axes& axes) {
  std::string path;
  double below = axes.y(axes.low);
  for (const auto& [x, y] : chart.front) {
    path += fmt::format("{3}{0:.1f} {1:.1f}L{0:.1f} {2:.1f}", axes.x(x), below, axes.y(y),
                        path.empty() ? "M" : "L");
    below = axes.y(y);
  }
  path += fmt::format("L{:.1f} {:.1f}", axes.x(axes.right), below);
  canvas.raw(fmt::format("<path class=\"curve s1 d1\" d=\"{}\"/>\n", path));
}

}  // namespace

std::string draw(const ScatterChart& chart, const SvgOptions& options) {
  constexpr double kTop = 52;
  Canvas canvas(chart.text, options, kTop + kScatterPlotHeight + 42);
  Axes axes = axes_of_points(chart);
  axes.box = {50, kTop, options.width - 16, kTop + kScatterPlotHeight};
  draw_axes(canvas, axes, chart.text);
  if (!chart.front.empty()) draw_stairs(canvas, chart, axes);
  for (const ChartPoint& point : chart.points) {
    canvas.raw(
        fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                    "r=\"{:.1f}\"><title>{}</title></circle>\n",
                    point.chosen ? "area s1" : "ring s0", axes.x(point.x), axes.y(point.y),
                    point.radius, escaped(point.label)));
  }
  LabelPlaces places(chart, axes);
  for (const ChartPoint& point : chart.points) {
    if (point.label.empty()) continue;
    const double x = axes.x(point.x), y = axes.y(point.y);
    const std::string label = fitted(point.label, (axes.box.right - axes.box.left) / 2);
    const std::optional<Box> box = places.place(x, y, point.radius, label);
    if (!box) continue;  // the circle's own title and the table still name it
    const double near_x = std::clamp(x, box->left, box->right);
    const double near_y = std::clamp(y, box->top, box->bottom);
    constexpr double kNeedsALine = 12;
    if (std::hypot(near_x - x, near_y - y) > point.radius + kNeedsALine) {
      canvas.line(x, y, near_x, near_y, "grid");
    }
    canvas.text(box->left, box->bottom - 3, label);
  }
  return canvas.finish();
}

}  // namespace hone::report
