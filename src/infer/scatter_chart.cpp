#include "infer/scatter_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::infer {
namespace {

/// The picture's frame: data coordinates to pixels.
struct Axes {
  double left, right, low, high;
  static constexpr double kX = 70, kY = 30, kWidth = 520, kHeight = 300;
  double x(double value) const { return kX + kWidth * (value - left) / (right - left); }
  double y(double value) const { return kY + kHeight * (high - value) / (high - low); }
};

Axes axes_of(const ScatterChart& chart) {
  if (chart.points.empty()) return {0, 1, 0, 1};
  const auto [left, right] =
      std::minmax_element(chart.points.begin(), chart.points.end(),
                          [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  const auto [low, high] =
      std::minmax_element(chart.points.begin(), chart.points.end(),
                          [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; });
  const double wide = std::max(chart.least_width, right->x - left->x) / 10;
  const double tall = std::max(chart.least_height, high->y - low->y) / 10;
  const double least = left->x < 0 ? left->x - wide : std::max(0.0, left->x - wide);
  return {least, right->x + wide, low->y - tall, high->y + tall};
}

/// Round numbers between two values, some five of them.
struct Ticks {
  double low, high, step;
  int digits;  ///< behind the point

  std::vector<double> values() const {
    std::vector<double> ticks;
    const double last = std::floor(high / step + 1e-9);
    for (double i = std::ceil(low / step - 1e-9); i <= last; ++i) {
      ticks.push_back(i * step + 0.0);  // no -0
    }
    return ticks;
  }
};

Ticks ticks_of(double low, double high) {
  const double raw = (high - low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double share = raw / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return {low, high, step, digits};
}

/// Text as it may stand in XML.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

/// Places labels one by one where those before leave room.
class Labels {
 public:
  std::string place(double x, double y, double radius, const std::string& text) {
    constexpr double kLetter = 5.6;
    constexpr double kLine = 11;
    const double width = kLetter * static_cast<double>(text.size());
    const bool left = x + radius + 3 + width > Axes::kX + Axes::kWidth;
    const double start = left ? x - radius - 3 - width : x + radius + 3;
    Box box{start, y - 5, start + width, y - 5 + kLine};
    for (int i = 1; i < 30 && taken(box); ++i) {
      const double shift = kLine * static_cast<double>((i + 1) / 2) * (i % 2 ? 1 : -1);
      box.top = y - 5 + shift;
      box.bottom = box.top + kLine;
    }
    boxes_.push_back(box);
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\">{}</text>\n", box.left,
                       box.bottom - 2, escaped(text));
  }

 private:
  struct Box {
    double left, top, right, bottom;
  };
  bool taken(const Box& box) const {
    return box.top < Axes::kY || box.bottom > Axes::kY + Axes::kHeight ||
           std::any_of(boxes_.begin(), boxes_.end(), [&](const Box& other) {
             return box.left < other.right && other.left < box.right && box.top < other.bottom &&
                    other.top < box.bottom;
           });
  }
  std::vector<Box> boxes_;
};

std::string frame(const ScatterChart& chart, const Axes& axes) {
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 380\" "
      "font-family=\"sans-serif\">\n<rect width=\"620\" height=\"380\" fill=\"white\"/>\n";
  out += fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n",
      Axes::kX, Axes::kY, Axes::kWidth, Axes::kHeight);
  const Ticks across = ticks_of(axes.left, axes.right);
  for (const double x : across.values()) {
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"345\" font-size=\"10\" text-anchor=\"middle\">{:.{}f}</text>\n",
        axes.x(x), x, across.digits);
  }
  const Ticks up = ticks_of(axes.low, axes.high);
  for (const double y : up.values()) {
    out += fmt::format(
        "<text x=\"64\" y=\"{:.1f}\" font-size=\"10\" text-anchor=\"end\">{:.{}f}</text>\n",
        axes.y(y) + 3, y, up.digits);
  }
  return out + fmt::format(
                   "<text x=\"330\" y=\"365\" font-size=\"12\" text-anchor=\"middle\">{}</text>\n"
                   "<text x=\"70\" y=\"20\" font-size=\"12\">{}</text>\n",
                   escaped(chart.x_label), escaped(chart.title));
}

std::string stairs(const ScatterChart& chart, const Axes& axes) {
  std::string out = "<polyline fill=\"none\" stroke=\"#c0392b\" points=\"";
  double below = axes.y(axes.low);
  for (const auto& [x, y] : chart.front) {
    out += fmt::format("{0:.1f},{1:.1f} {0:.1f},{2:.1f} ", axes.x(x), below, axes.y(y));
    below = axes.y(y);
  }
  return out + fmt::format("{:.1f},{:.1f}\"/>\n", axes.x(axes.right), below);
}

}  // namespace

std::string to_svg(const ScatterChart& chart) {
  const Axes axes = axes_of(chart);
  std::string out = frame(chart, axes);
  if (!chart.front.empty()) out += stairs(chart, axes);
  Labels labels;
  for (const ChartPoint& point : chart.points) {
    const double x = axes.x(point.x);
    const double y = axes.y(point.y);
    out += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.6\" "
        "stroke=\"{}\"/>\n",
        x, y, point.radius, point.filled ? point.colour : "none", point.colour);
    out += labels.place(x, y, point.radius, point.label);
  }
  return out + "</svg>\n";
}

}  // namespace hone::infer
