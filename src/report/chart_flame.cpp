#include <fmt/format.h>

#include <algorithm>

#include "report/chart_drawing.h"

namespace hone::report {
namespace {

constexpr double kFlameRow = 19;
constexpr double kFlameSide = 10;

/// A frame where it is drawn.
struct PlacedFrame {
  const FlameFrame* frame;
  double left, width, top;
};

/// Lays frames side by side in the one that holds them; what is narrower than half a pixel, and
/// all inside it, is left out.
std::vector<PlacedFrame> placed_frames(const FlameChart& chart, double width, double top) {
  double total = 0;
  for (const FlameFrame& frame : chart.frames) total += frame.depth == 0 ? frame.value : 0;
  const double scale = total > 0 ? (width - 2 * kFlameSide) / total : 0;
  std::vector<PlacedFrame> placed;
  std::vector<double> next = {kFlameSide};  // where the next frame of each depth begins
  for (const FlameFrame& frame : chart.frames) {
    next.resize(frame.depth + 1);
    const double left = next.back(), pixels = frame.value * scale;
    next.back() += pixels;
    next.push_back(left);
    constexpr double kLeastPixels = 0.5;
    if (!(pixels >= kLeastPixels)) continue;  // NAN where the sum is infinite
    placed.push_back({&frame, left, pixels, top + kFlameRow * static_cast<double>(frame.depth)});
  }
  return placed;
}

}  // namespace

std::string draw(const FlameChart& chart, const SvgOptions& options) {
  constexpr double kTop = 28;
  const std::vector<PlacedFrame> placed = placed_frames(chart, options.width, kTop);
  double bottom = kTop;
  for (const PlacedFrame& each : placed) bottom = std::max(bottom, each.top + kFlameRow);
  Canvas canvas(chart.text, options, bottom + 10);
  for (const PlacedFrame& each : placed) {
    const FlameFrame& frame = *each.frame;
    canvas.raw(fmt::format(
        "<rect class=\"frame {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\">"
        "<title>{}: {} {}</title></rect>\n",
        series_style(frame.depth), each.left, each.top, each.width, kFlameRow - 1,
        escaped(frame.name), short_number(frame.value), escaped(chart.unit)));
    constexpr double kLeastText = 24;
    if (each.width < kLeastText) continue;
    canvas.text(each.left + 4, each.top + 13, fitted(frame.name, each.width - 8));
  }
  return canvas.finish();
}

}  // namespace hone::report
