#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// Pictures as SVG: every label has room of its own, colour is never the only sign, and each has a
/// title, a description and its data as a table.
namespace hone::report {

/// The words of a picture.
struct ChartText {
  std::string title;
  std::string description = {};  ///< says in a sentence what can be seen
  std::string x_label = {};
  std::string y_label = {};
};

struct ChartSeries {
  std::string name;
  std::vector<double> x = {};  ///< rising
  std::vector<double> y = {};  ///< values at x; one that is not finite leaves a gap
};

/// Lines over one axis, or areas that lie on one another.
struct LineChart {
  ChartText text;
  std::vector<ChartSeries> series = {};
  bool stacked = false;    ///< areas; all series have the same x
  bool from_zero = false;  ///< whether the y axis begins at 0
};

struct BarSeries {
  std::string name;
  std::vector<double> values = {};  ///< by category; one that is not finite has no bar
};

/// A row of bars for each category, so that names of any length have a line of their own.
struct BarChart {
  ChartText text;
  std::vector<std::string> categories = {};
  std::vector<BarSeries> series = {};
};

struct PieSlice {
  std::string name;
  double value = 0;  ///< at least 0
};

struct PieChart {
  ChartText text;
  std::string unit = {};
  std::vector<PieSlice> slices = {};
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string label = {};
  bool chosen = false;  ///< drawn in another colour and filled
  double radius = 4;    ///< pixels
};

/// Labelled points.
struct ScatterChart {
  ChartText text;
  double least_width = 0.1;    ///< least width that the x axis covers, however close the points lie
  double least_height = 0.01;  ///< least height that the y axis covers
  std::vector<ChartPoint> points = {};
  /// Best points by rising x, drawn as stairs from the bottom to the right edge.
  std::vector<std::pair<double, double>> front = {};
};

/// A piece of a flame graph, over those that follow it with a larger depth.
struct FlameFrame {
  std::string name;
  size_t depth = 0;  ///< 0, or at most one more than that of the frame before it
  double value = 0;  ///< at least 0; includes what lies inside
};

/// What took how much inside what: a frame is as wide as its share, and what it holds lies below.
struct FlameChart {
  ChartText text;
  std::string unit = {};
  std::vector<FlameFrame> frames = {};
};

using Chart = std::variant<LineChart, BarChart, PieChart, ScatterChart, FlameChart>;

constexpr double kChartWidth = 640;   ///< pixels of a picture
constexpr double kNarrowWidth = 340;  ///< pixels of one for a telephone

struct SvgOptions {
  std::string id = "chart";  ///< begins the names inside it, which must differ on one page
  double width = kChartWidth;
  bool styled = true;  ///< brings its style sheet, of which a page has one for all pictures
};

/// Gives an SVG that any browser opens, in light and dark.
std::string to_svg(const Chart& chart, const SvgOptions& options = {});

const ChartText& text_of(const Chart& chart);

/// A table of texts and numbers, for pages, CSV and LaTeX alike.
struct DataTable {
  std::string title;
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};  ///< rows have a cell for each column
  bool compares = false;  ///< each column but the first is a run, and a page may pick two of them
};

/// Gives what a picture shows as numbers; not more than `rows` of them, evenly chosen.
DataTable data_of(const Chart& chart, size_t rows = SIZE_MAX);

/// Gives a number as people write it: 4 digits that count, no trailing zeros, 1e-05 where it is
/// small; empty where it is not finite.
std::string short_number(double value);

}  // namespace hone::report
