#pragma once

#include <string>

#include "report/chart.h"
#include "report/chart_layout.h"

/// The kinds of pictures, for to_svg().
namespace hone::report {

std::string draw(const LineChart& chart, const SvgOptions& options);
std::string draw(const BarChart& chart, const SvgOptions& options);
std::string draw(const PieChart& chart, const SvgOptions& options);
std::string draw(const ScatterChart& chart, const SvgOptions& options);
std::string draw(const FlameChart& chart, const SvgOptions& options);

}  // namespace hone::report
