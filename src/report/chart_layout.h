#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"

/// What pictures are laid out with. Sizes are in pixels of the picture.
namespace hone::report {

constexpr double kFontSize = 11;
constexpr double kLineHeight = 15;

/// Gives an upper bound of a text's width in common sans-serif fonts.
double text_width(std::string_view text, double font_size = kFontSize);
/// Cuts a text to a width, with an ellipsis at its end.
std::string fitted(std::string_view text, double width, double font_size = kFontSize);
/// Gives text as it may stand in XML and HTML, quotes included; control characters and bytes that
/// are no UTF-8 are replaced.
std::string escaped(std::string_view text);

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Round numbers between two values.
struct Ticks {
  std::vector<double> values;
  int digits = 0;  ///< digits behind the point

  std::string text(double value) const;
};
/// Gives about `count` ticks, `least_step` apart or more; a range of no width, or one that is not
/// finite, has one.
Ticks ticks_of(double low, double high, int count = 5, double least_step = 0);

enum class Anchor { start, middle, end };

/// An SVG under way.
class Canvas {
 public:
  Canvas(const ChartText& text, const SvgOptions& options, double height);

  double width() const { return width_; }

  /// Writes a text whose base line is at y.
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::start,
            std::string_view style = "ink");
  void line(double x0, double y0, double x1, double y1, std::string_view style);
  /// Adds an element as it is.
  void raw(std::string_view element) { out_ += element; }
  /// Ends the picture.
  std::string finish();

 private:
  double width_;
  std::string out_;
};

/// Gives the classes of the i-th series: its colour and, for lines, its dashes. No two of the first
/// 64 have both in common.
std::string series_style(size_t index);

/// Writes names of series in lines from `top` on, each behind a sample of its style; gives where
/// they end. `areas` draws squares, else lines.
double draw_legend(Canvas& canvas, const std::vector<std::string>& names, double top, bool areas);
/// Gives the height that draw_legend() takes in a picture of that width.
double legend_height(const std::vector<std::string>& names, double width);

/// A plot's frame: data coordinates to pixels.
struct Axes {
  double left = 0, right = 1, low = 0, high = 1;  ///< the data's range
  Box box = {};                                   ///< where it lies in the picture
  bool counts = false;                            ///< whether all x are whole, as steps are
  double x(double value) const {
    return box.left + (box.right - box.left) * (value - left) / (right - left);
  }
  double y(double value) const {
    return box.top + (box.bottom - box.top) * (high - value) / (high - low);
  }
};
/// Draws the frame, the grid, ticks with their numbers, and the names of the axes. The box's left
/// edge is moved so that the numbers have room.
void draw_axes(Canvas& canvas, Axes& axes, const ChartText& text);

}  // namespace hone::report
