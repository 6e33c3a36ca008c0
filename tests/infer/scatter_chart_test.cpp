#include "infer/scatter_chart.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace hone::infer {
namespace {

/// What stands at the ticks: texts of digits alone.
std::vector<std::string> tick_texts(const std::string& svg) {
  std::vector<std::string> texts;
  const std::regex number(">(-?[0-9.]+)</text>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), number), end; at != end; ++at) {
    texts.push_back((*at)[1]);
  }
  return texts;
}

TEST(ScatterChart, TicksAreRoundAndApart) {
  ScatterChart chart;
  chart.points = {{.x = 0.46, .y = 0.8888}, {.x = 5.94, .y = 0.8911}};
  chart.least_height = 0.001;
  const std::vector<std::string> texts = tick_texts(to_svg(chart));
  EXPECT_EQ(texts, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "0.8890", "0.8895",
                                             "0.8900", "0.8905", "0.8910"}));
}

TEST(ScatterChart, NoTickIsWrittenAsMinusNothing) {
  ScatterChart chart;
  chart.points = {{.x = 1, .y = -0.5}, {.x = 2, .y = 0.5}};
  chart.least_height = 0.001;
  for (const std::string& text : tick_texts(to_svg(chart))) EXPECT_NE(text, "-0.0");
}

TEST(ScatterChart, OnePointOrNoneStillHasAxes) {
  ScatterChart chart;
  EXPECT_FALSE(tick_texts(to_svg(chart)).empty());
  chart.points = {{.x = 3, .y = 0.5}};
  const std::vector<std::string> texts = tick_texts(to_svg(chart));
  EXPECT_GE(texts.size(), 6u);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
}

}  // namespace
}  // namespace hone::infer
