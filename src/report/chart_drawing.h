#pragma once

#include <string>

#include "report/chart.h"
#include "report/chart_layout.h"

/// The four kinds of pictures, for to_svg().
namespace hone::report {

std::string draw(const LineChart& chart, const std::string& id);
std::string draw(const BarChart& chart, const std::string& id);
std::string draw(const PieChart& chart, const std::string& id);
std::string draw(const ScatterChart& chart, const std::string& id);

}  // namespace hone::report
