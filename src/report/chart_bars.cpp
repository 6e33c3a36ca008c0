#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart_drawing.h"

namespace hone::report {
namespace {

constexpr double kBar = 14;
constexpr double kGap = 8;
constexpr double kPieRadius = 95;

/// Gives the part of a circle between two shares of the whole turn, from the top, clockwise.
std::string slice_path(double from, double to, double x, double y) {
  const auto at = [&](double share) {
    const double angle = 2 * M_PI * share;
    return fmt::format("{:.2f} {:.2f}", x + kPieRadius * std::sin(angle),
                       y - kPieRadius * std::cos(angle));
  };
  const double middle = (from + to) / 2;  // two arcs, since one cannot go all around
  return fmt::format("M{0:.2f} {1:.2f}L{2}A{3} {3} 0 0 1 {4}A{3} {3} 0 0 1 {5}Z", x, y, at(from),
                     kPieRadius, at(middle), at(to));
}

}  // namespace

std::string draw(const BarChart& chart, const SvgOptions& options) {
  std::vector<std::string> names;
  for (const BarSeries& series : chart.series) names.push_back(series.name);
  if (names.size() == 1) names.clear();
  double least = 0, most = 0, widest = 0;
  for (const BarSeries& series : chart.series) {
    for (const double value : series.values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  for (const std::string& name : chart.categories) widest = std::max(widest, text_width(name));
  const double left = std::min(widest, options.width * 0.4) + 16;
  constexpr double kNumberRoom = 72;
  const double room = options.width - left - kNumberRoom;
  const double scale = most > least ? room / (most - least) : 0;
  const double group = kBar * static_cast<double>(std::max<size_t>(1, chart.series.size())) + kGap;
  const double top = 24 + legend_height(names, options.width) + 8;
  Canvas canvas(chart.text, options,
                top + group * static_cast<double>(chart.categories.size()) + kLineHeight + 12);
  draw_legend(canvas, names, 24, true);
  const double zero = left - least * scale;
  double y = top;
  for (size_t i = 0; i < chart.categories.size(); ++i, y += group) {
    canvas.text(left - 8, y + (group - kGap) / 2 + 4, fitted(chart.categories[i], left - 16),
                Anchor::end);
    for (size_t j = 0; j < chart.series.size(); ++j) {
      const double value = chart.series[j].values[i];
      const double bar_top = y + kBar * static_cast<double>(j);
      if (!std::isfinite(value)) {
        canvas.text(left + 5, bar_top + kBar - 3, "not available", Anchor::start, "soft");
        continue;
      }
      const double begin = std::min(zero, zero + value * scale);
      const double width = std::abs(value) * scale;
      canvas.raw(fmt::format(
          "<rect class=\"area {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>\n",
          series_style(j), begin, bar_top + 1, std::max(width, 0.5), kBar - 2));
      canvas.text(begin + width + 5, bar_top + kBar - 3, short_number(value));
    }
  }
  canvas.line(zero, top - 4, zero, y, "edge");
  canvas.text((left + options.width) / 2, y + kLineHeight,
              fitted(chart.text.x_label, options.width - left), Anchor::middle);
  return canvas.finish();
}

std::string draw(const PieChart& chart, const SvgOptions& options) {
  double total = 0;
  for (const PieSlice& slice : chart.slices) total += slice.value;
  const double lines = kLineHeight * static_cast<double>(chart.slices.size());
  constexpr double kLeastBeside = 480;  // pixels of a picture whose list has room beside the pie
  const bool beside = options.width >= kLeastBeside;
  const double pie = 2 * kPieRadius + 10;
  const double height = 60 + (beside ? std::max(pie, lines) : pie + 10 + lines);
  Canvas canvas(chart.text, options, height);
  const double x = kPieRadius + 24, y = 44 + kPieRadius;
  double from = 0;
  double line = beside ? 46 : 66 + pie;
  for (size_t i = 0; i < chart.slices.size(); ++i, line += kLineHeight) {
    const PieSlice& slice = chart.slices[i];
    const double share = total > 0 ? slice.value / total : 0;
    if (share > 0) {
      canvas.raw(fmt::format("<path class=\"{} slice\" d=\"{}\"/>\n", series_style(i),
                             slice_path(from, from + share, x, y)));
    }
    // The number of a slice stands beside it and in the list: colour is not needed to read it.
    constexpr double kRoomForNumber = 0.05;
    if (share >= kRoomForNumber) {
      const double angle = 2 * M_PI * (from + share / 2);
      canvas.text(x + (kPieRadius + 11) * std::sin(angle),
                  y - (kPieRadius + 11) * std::cos(angle) + 4, fmt::format("{}", i + 1),
                  Anchor::middle);
    }
    from += share;
    const double list = beside ? 2 * kPieRadius + 70 : 10;
    canvas.raw(
        fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>\n",
                    series_style(i), list, line - 9));
    const std::string words = fmt::format("{}  {}: {} {} ({:.1f}%)", i + 1, slice.name,
                                          short_number(slice.value), chart.unit, 100 * share);
    canvas.text(list + 16, line, fitted(words, options.width - list - 20));
  }
  return canvas.finish();
}

}  // namespace hone::report
