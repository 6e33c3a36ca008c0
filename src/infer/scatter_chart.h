#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hone::infer {

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string label = {};
  const char* colour = "#2c6fbb";
  double radius = 4;   ///< pixels
  bool filled = true;  ///< else a ring
};

/// A picture of labelled points.
struct ScatterChart {
  std::string title;
  std::string x_label;
  double least_width = 0.1;    ///< that the x axis covers, however close the points lie
  double least_height = 0.01;  ///< and the y axis
  std::vector<ChartPoint> points;
  /// Best points by rising x: drawn as stairs from the bottom to the right edge.
  std::vector<std::pair<double, double>> front;
};

/// SVG that any browser opens. Labels avoid one another.
std::string to_svg(const ScatterChart& chart);

}  // namespace hone::infer
