#include "report/chart_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "report/page_parts.h"

namespace hone::report {
namespace {

/// Widths in ems, rounded up from DejaVu Sans, the widest of the usual fonts.
double letter_width(char32_t letter) {
  constexpr std::string_view kNarrow = "ijl.,:;|!'";
  constexpr std::string_view kWide = "mwMW%@";
  if (letter >= 0x80) return letter == 0x2026 || letter == 0xd7 || letter == 0xb5 ? 1.0 : 1.05;
  const char c = static_cast<char>(letter);
  if (kNarrow.find(c) != std::string_view::npos) return 0.34;
  if (kWide.find(c) != std::string_view::npos) return 1.0;
  if (c >= 'A' && c <= 'Z') return 0.79;
  if (c == ' ') return 0.34;
  return c == 'f' || c == 't' || c == 'r' || c == '(' || c == ')' || c == '-' || c == '/' ? 0.42
                                                                                          : 0.64;
}

}  // namespace

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Char letter = decode_utf8(text, at);
    ems += letter_width(letter.code);
    at += letter.size;
  }
  return ems * font_size;
}

std::string fitted(std::string_view text, double width, double font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  double taken = font_size;  // the ellipsis
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Char letter = decode_utf8(text, at);
    taken += letter_width(letter.code) * font_size;
    if (taken > width) break;
    at += letter.size;
  }
  return std::string(text.substr(0, at)) + "\u2026";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const Utf8Char read = decode_utf8(text, at);
    const char32_t letter = read.code;
    at += read.size;
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (letter < ' ' || letter == 0x7f || letter == 0xfffe || letter == 0xffff) {
          out += ' ';
        } else if (letter == 0xfffd) {
          out += "\xef\xbf\xbd";
        } else {
          out += text.substr(begin, at - begin);
        }
    }
  }
  return out;
}

std::string Ticks::text(double value) const {
  const bool huge = std::abs(value) >= 1e6;
  return huge ? fmt::format("{:g}", value) : fmt::format("{:.{}f}", value + 0.0, digits);
}

Ticks ticks_of(double low, double high, int count, double least_step) {
  if (!(high > low) || !std::isfinite(high - low)) return {{std::isfinite(low) ? low : 0}, 0};
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double share = raw / power;
  const double round = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  const double step = std::max(round, least_step);
  if (!(step > 0)) return {{low}, 0};
  Ticks ticks;
  ticks.digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  const double first = std::ceil(low / step - 1e-9);
  const double last = std::floor(high / step + 1e-9);
  // Beyond 2^53 a number and the next one may be the same: the steps are counted apart.
  for (int i = 0; i <= 2 * count + 2 && first + i <= last; ++i) {
    ticks.values.push_back((first + i) * step + 0.0);  // no -0
  }
  if (ticks.values.empty()) ticks.values.push_back(low);
  return ticks;
}

Canvas::Canvas(const ChartText& text, const SvgOptions& options, double height)
    : width_(options.width) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hone-chart\" viewBox=\"0 0 {0} {1:.0f}\" "
      "role=\"img\" aria-labelledby=\"{2}-title {2}-description\">\n"
      "<title id=\"{2}-title\">{3}</title>\n<desc id=\"{2}-description\">{4}</desc>\n",
      width_, height, options.id, escaped(text.title),
      escaped(text.description.empty() ? text.title : text.description));
  if (options.styled) out_ += fmt::format("<style>\n{}</style>\n", chart_style());
  out_ += fmt::format("<rect class=\"paper\" width=\"{}\" height=\"{:.0f}\"/>\n", width_, height);
  constexpr double kHeadSize = 13;
  out_ += fmt::format("<text class=\"head\" x=\"10\" y=\"18\" font-size=\"13\">{}</text>\n",
                      escaped(fitted(text.title, width_ - 20, kHeadSize * 1.1)));
}

void Canvas::text(double x, double y, std::string_view words, Anchor anchor,
                  std::string_view style) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  out_ += fmt::format(
      "<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" "
      "text-anchor=\"{}\">{}</text>\n",
      style, x, y, kAnchors[static_cast<size_t>(anchor)], escaped(words));
}

void Canvas::line(double x0, double y0, double x1, double y1, std::string_view style) {
  out_ +=
      fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                  style, x0, y0, x1, y1);
}

std::string Canvas::finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

std::string series_style(size_t index) {
  constexpr size_t kStyles = 8;
  return fmt::format("s{} d{}", index % kStyles, (index + index / kStyles) % kStyles);
}

namespace {

constexpr double kSample = 22;  ///< pixels of a line's sample in the legend, gap included
constexpr double kLegendLeft = 10;

/// Calls `place(i, x, line, name)` for each name where it stands; gives the number of lines.
template <typename Place>
int flow_legend(const std::vector<std::string>& names, double room, Place&& place) {
  double x = kLegendLeft;
  int line = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = fitted(names[i], room - 2 * kLegendLeft - kSample);
    const double width = kSample + text_width(name) + 14;
    if (x > kLegendLeft && x + width > room) {
      x = kLegendLeft;
      ++line;
    }
    place(i, x, line, name);
    x += width;
  }
  return names.empty() ? 0 : line + 1;
}

}  // namespace

double legend_height(const std::vector<std::string>& names, double width) {
  return kLineHeight * flow_legend(names, width, [](size_t, double, int, const std::string&) {});
}

double draw_legend(Canvas& canvas, const std::vector<std::string>& names, double top, bool areas) {
  flow_legend(names, canvas.width(), [&](size_t i, double x, int line, const std::string& name) {
    const double base = top + kLineHeight * (line + 1) - 4;
    if (areas) {
      canvas.raw(
          fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\"/>\n",
                      series_style(i), x + 4, base - 9));
    } else {
      canvas.line(x, base - 4, x + kSample - 5, base - 4, "curve " + series_style(i));
    }
    canvas.text(x + kSample, base, name);
  });
  return top + legend_height(names, canvas.width());
}

void draw_axes(Canvas& canvas, Axes& axes, const ChartText& text) {
  const Ticks up = ticks_of(axes.low, axes.high);
  double widest = 0;
  for (const double value : up.values) widest = std::max(widest, text_width(up.text(value)));
  axes.box.left = std::max(axes.box.left, widest + 16);
  for (const double value : up.values) {
    canvas.line(axes.box.left, axes.y(value), axes.box.right, axes.y(value), "grid");
    canvas.text(axes.box.left - 6, axes.y(value) + 4, up.text(value), Anchor::end, "soft");
  }
  // Fewer numbers where they are so long that they would meet.
  const double least_step = axes.counts ? 1 : 0;
  Ticks across = ticks_of(axes.left, axes.right, 6, least_step);
  for (int count = 5; count >= 1; --count) {
    double before = -1e9;
    const bool meet =
        std::any_of(across.values.begin(), across.values.end(), [&](const double value) {
          const double half = text_width(across.text(value)) / 2;
          const bool close = axes.x(value) - half < before + 8;
          before = axes.x(value) + half;
          return close;
        });
    if (!meet) break;
    across = ticks_of(axes.left, axes.right, count, least_step);
  }
  for (const double value : across.values) {
    const std::string number = across.text(value);
    const double half = text_width(number) / 2;
    canvas.line(axes.x(value), axes.box.top, axes.x(value), axes.box.bottom, "grid");
    canvas.text(std::clamp(axes.x(value), half + 1, canvas.width() - half - 1),
                axes.box.bottom + 15, number, Anchor::middle, "soft");
  }
  canvas.raw(fmt::format(
      "<rect class=\"edge\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      axes.box.left, axes.box.top, axes.box.right - axes.box.left, axes.box.bottom - axes.box.top));
  canvas.text((axes.box.left + axes.box.right) / 2, axes.box.bottom + 32,
              fitted(text.x_label, axes.box.right - axes.box.left), Anchor::middle);
  // The y axis is named above its numbers: a turned text is hard to read.
  canvas.text(10, axes.box.top - 8, fitted(text.y_label, canvas.width() - 20));
}

}  // namespace hone::report
