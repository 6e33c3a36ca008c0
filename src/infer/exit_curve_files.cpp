#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "infer/exit_curve.h"

namespace hone::infer {
namespace {

double speed_up(const ExitCurve& curve, const ExitPoint& point) {
  return curve.whole.seconds_32 / point.seconds_32;
}

Json to_json(const ExitCurve& curve, const ExitPoint& point) {
  return {{"setting", point.name()},
          {curve.metric, point.score},
          {"mean_layers", point.layers},
          {"ms_batch_1", 1e3 * point.seconds_one},
          {"ms_batch_32", 1e3 * point.seconds_32},
          {"speed_up_batch_1", curve.whole.seconds_one / point.seconds_one},
          {"speed_up_batch_32", speed_up(curve, point)}};
}

/// The picture's frame: data coordinates to pixels.
struct Axes {
  double left, right, low, high;
  static constexpr double kX = 70, kY = 30, kWidth = 520, kHeight = 300;
  double x(double value) const { return kX + kWidth * (value - left) / (right - left); }
  double y(double value) const { return kY + kHeight * (high - value) / (high - low); }
};

Axes axes_of(const ExitCurve& curve) {
  Axes axes{1, 1, curve.whole.score, curve.whole.score};
  for (const ExitPoint& point : curve.points) {
    axes.left = std::min(axes.left, speed_up(curve, point));
    axes.right = std::max(axes.right, speed_up(curve, point));
    axes.low = std::min(axes.low, point.score);
    axes.high = std::max(axes.high, point.score);
  }
  const double wide = std::max(0.1, axes.right - axes.left) / 10;
  const double tall = std::max(0.01, axes.high - axes.low) / 10;
  return {axes.left - wide, axes.right + wide, axes.low - tall, axes.high + tall};
}

std::string mark(const Axes& axes, double x, double y, const std::string& name,
                 const char* colour) {
  return fmt::format(
      "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"{2}\"/>\n"
      "<text x=\"{3:.1f}\" y=\"{4:.1f}\" font-size=\"10\">{5}</text>\n",
      axes.x(x), axes.y(y), colour, axes.x(x) + 6, axes.y(y) - 5, name);
}

}  // namespace

Json to_json(const ExitCurve& curve) {
  Json points = Json::array();
  for (const ExitPoint& point : curve.points) points.push_back(to_json(curve, point));
  return {
      {"metric", curve.metric},
      {"samples", curve.samples},
      {"layers", curve.depth},
      {"all_layers", to_json(curve, curve.whole)},
      {"points", points},
      {"chosen",
       curve.chosen < 0 ? Json() : Json(curve.points[static_cast<size_t>(curve.chosen)].name())}};
}

std::string to_csv(const ExitCurve& curve) {
  std::string out = fmt::format(
      "setting,{},mean_layers,ms_batch_1,ms_batch_32,speed_up_batch_1,speed_up_batch_32\n",
      curve.metric);
  const auto row = [&](const ExitPoint& point) {
    out += fmt::format("{},{:.6f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", point.name(), point.score,
                       point.layers, 1e3 * point.seconds_one, 1e3 * point.seconds_32,
                       curve.whole.seconds_one / point.seconds_one, speed_up(curve, point));
  };
  row(curve.whole);
  for (const ExitPoint& point : curve.points) row(point);
  return out;
}

std::string to_svg(const ExitCurve& curve) {
  const Axes axes = axes_of(curve);
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 380\" "
      "font-family=\"sans-serif\">\n<rect width=\"620\" height=\"380\" fill=\"white\"/>\n";
  out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
      Axes::kX, Axes::kY, Axes::kWidth, Axes::kHeight);
  constexpr int kTicks = 5;
  for (int i = 0; i <= kTicks; ++i) {
    const double x = axes.left + (axes.right - axes.left) * i / kTicks;
    const double y = axes.low + (axes.high - axes.low) * i / kTicks;
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"345\" font-size=\"10\" text-anchor=\"middle\">{:.2f}</text>\n"
        "<text x=\"64\" y=\"{:.1f}\" font-size=\"10\" text-anchor=\"end\">{:.3f}</text>\n",
        axes.x(x), x, axes.y(y) + 3, y);
  }
  out += fmt::format(
      "<text x=\"330\" y=\"365\" font-size=\"12\" text-anchor=\"middle\">measured speed-up in "
      "batches of 32</text>\n<text x=\"70\" y=\"20\" font-size=\"12\">{}, {} samples</text>\n",
      curve.metric, curve.samples);
  out += mark(axes, 1, curve.whole.score, "all layers", "#333");
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const ExitPoint& point = curve.points[i];
    const bool chosen = static_cast<int64_t>(i) == curve.chosen;
    out += mark(axes, speed_up(curve, point), point.score, point.name(),
                chosen ? "#c0392b" : "#2c6fbb");
  }
  return out + "</svg>\n";
}

void store_exits(const std::string& folder, const ExitCurve& curve) {
  write_json(folder + "/exit_curve.json", to_json(curve));
  write_file(folder + "/exit_curve.csv", to_csv(curve));
  write_file(folder + "/exit_curve.svg", to_svg(curve));
  if (curve.chosen < 0) return;
  const std::string file = folder + "/config.json";
  Json config = parse_json(read_file(file), file);
  models::write_exits(curve.points[static_cast<size_t>(curve.chosen)].settings, config);
  write_json(file, config);
}

}  // namespace hone::infer
