#include "report/chart.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include "base/random.h"
#include "report/chart_layout.h"

namespace hone::report {
namespace {

struct PlacedText {
  Box box;
  std::string text;
};

/// Reads where a picture's texts stand.
std::vector<PlacedText> placed_texts(const std::string& svg) {
  const std::regex element(
      "<text class=\"([a-z]+)\" x=\"([-0-9.]+)\" y=\"([-0-9.]+)\" font-size=\"([0-9]+)\""
      "(?: text-anchor=\"([a-z]+)\")?>([^<]*)</text>");
  std::vector<PlacedText> placed;
  for (std::sregex_iterator at(svg.begin(), svg.end(), element), end; at != end; ++at) {
    const std::string text = (*at)[6];
    if (text.empty()) continue;
    const double x = std::stod((*at)[2]), y = std::stod((*at)[3]), size = std::stod((*at)[4]);
    const double width = text_width(text, size);
    const double left = (*at)[5] == "end" ? x - width : (*at)[5] == "middle" ? x - width / 2 : x;
    placed.push_back({{left, y - 0.8 * size, left + width, y + 0.2 * size}, text});
  }
  return placed;
}

/// Reads where a picture's points, bars and samples of a legend lie; frames hold their texts.
std::vector<Box> placed_marks(const std::string& svg) {
  const std::regex circle(
      "<circle class=\"[^\"]*\" cx=\"([^\"]+)\" cy=\"([^\"]+)\" r=\"([^\"]+)\"");
  const std::regex rectangle(
      "<rect class=\"(?:area )?s[0-9][^\"]*\" x=\"([^\"]+)\" y=\"([^\"]+)\" width=\"([^\"]+)\" "
      "height=\"([^\"]+)\"");
  std::vector<Box> marks;
  const std::sregex_iterator end;
  for (std::sregex_iterator at(svg.begin(), svg.end(), circle); at != end; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]), r = std::stod((*at)[3]);
    marks.push_back({x - r, y - r, x + r, y + r});
  }
  for (std::sregex_iterator at(svg.begin(), svg.end(), rectangle); at != end; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]);
    marks.push_back({x, y, x + std::stod((*at)[3]), y + std::stod((*at)[4])});
  }
  return marks;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void expect_labels_apart(const std::string& svg, double picture_width = kChartWidth) {
  const std::vector<PlacedText> texts = placed_texts(svg);
  const std::vector<Box> marks = placed_marks(svg);
  EXPECT_EQ(texts.size() + occurrences(svg, "\"></text>"), occurrences(svg, "<text"));
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GE(texts[i].box.left, 0) << texts[i].text;
    EXPECT_LE(texts[i].box.right, picture_width) << texts[i].text;
    for (const Box& mark : marks) EXPECT_FALSE(texts[i].box.meets(mark)) << texts[i].text;
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(texts[i].box.meets(texts[j].box)) << texts[i].text << " / " << texts[j].text;
    }
  }
}

double drawn_number(uint64_t seed, uint64_t index) {
  return static_cast<double>(philox(seed, 0, index)[0]) / 4294967296.0;
}

std::string drawn_name(uint64_t seed, uint64_t index) {
  const char* names[] = {"forward", "loss and backward, long",
                         "a",       "int8 with exits at 3: 24 MB",
                         "W",       "evaluation of the validation set and of the test set, both"};
  return names[static_cast<size_t>(6 * drawn_number(seed, index))];
}

std::vector<Chart> drawn_charts(uint64_t seed) {
  const double scale = std::pow(10, 12 * drawn_number(seed, 1) - 6);
  ScatterChart points{.text = {.title = "points", .x_label = "x", .y_label = "y"}};
  LineChart lines{.text = {.title = "lines", .x_label = "steps", .y_label = "loss"}};
  BarChart bars{.text = {.title = "bars", .x_label = "seconds"}};
  PieChart pie{.text = {.title = "pie"}, .unit = "s"};
  FlameChart flame{.text = {.title = "flame"}, .unit = "ms", .frames = {{"all", 0, 60 * scale}}};
  for (uint64_t i = 0; i < 20; ++i) {
    const double part = 3 * scale * drawn_number(seed, 500 + i);
    flame.frames.push_back({drawn_name(seed, 70 + i), 1, part});
    flame.frames.push_back({drawn_name(seed, 90 + i), 2, part / 2});
    flame.frames.push_back({drawn_name(seed, 91 + i), 2, part / 3});
    const double x = scale * drawn_number(seed, 10 + i), y = scale * drawn_number(seed, 40 + i);
    points.points.push_back({.x = x, .y = y, .label = drawn_name(seed, 70 + i)});
    bars.categories.push_back(drawn_name(seed, 70 + i));
    pie.slices.push_back({drawn_name(seed, 70 + i), x});
  }
  for (uint64_t s = 0; s < 5; ++s) {
    ChartSeries series{.name = drawn_name(seed, 100 + s)};
    BarSeries bar{.name = drawn_name(seed, 100 + s)};
    for (uint64_t i = 0; i < 20; ++i) {
      series.x.push_back(scale * static_cast<double>(i));
      series.y.push_back(scale * drawn_number(seed, 200 + 20 * s + i));
      const double value = scale * (drawn_number(seed, 400 + 20 * s + i) - 0.3);
      bar.values.push_back(drawn_number(seed, 600 + 20 * s + i) < 0.1 ? NAN : value);
    }
    lines.series.push_back(series);
    bars.series.push_back(bar);
  }
  LineChart areas = lines;
  areas.stacked = true;
  return {points, lines, areas, bars, pie, flame};
}

TEST(Chart, NoTwoLabelsMeet) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (const Chart& chart : drawn_charts(seed)) {
      for (const double width : {kChartWidth, kNarrowWidth}) {
        SCOPED_TRACE(fmt::format("{} {} {}", text_of(chart).title, seed, width));
        expect_labels_apart(to_svg(chart, {.width = width}), width);
      }
    }
  }
}

TEST(Chart, PointsUponOneAnotherHaveLabelsApart) {
  ScatterChart chart{.text = {.title = "one place"}};
  for (int i = 0; i < 12; ++i) {
    chart.points.push_back({.x = 1, .y = 1, .label = "point " + std::to_string(i)});
  }
  const std::string svg = to_svg(chart);
  expect_labels_apart(svg);
  for (const ChartPoint& point : chart.points) {
    EXPECT_NE(svg.find(">" + point.label + "</text>"), std::string::npos) << point.label;
  }
}

TEST(Chart, EmptyAndConstantDataStillMakeAPicture) {
  for (const Chart& chart : std::vector<Chart>{
           ScatterChart{}, LineChart{}, BarChart{}, PieChart{}, FlameChart{},
           LineChart{.text = {.title = "flat"}, .series = {{"a", {3}, {0}}}},
           LineChart{.text = {.title = "gap"}, .series = {{"a", {1, 2}, {NAN, NAN}}}},
           BarChart{.text = {.title = "none"}, .categories = {"a"}, .series = {{"b", {NAN}}}},
           BarChart{.text = {.title = "below"},
           .categories = {"a"},
           .series = {{"b", {-1}}, {"c", {NAN}}}},
           FlameChart{.text = {.title = "endless"}, .frames = {{"a", 0, INFINITY}, {"b", 1, 1}}},
           FlameChart{.text = {.title = "cold"}, .frames = {{"a", 0, 0}, {"b", 1, 0}}},
           PieChart{.text = {.title = "nothing"}, .slices = {{"a", 0}}}}) {
    const std::string svg = to_svg(chart);
    expect_labels_apart(svg);
    EXPECT_EQ(svg.find("nan"), std::string::npos) << svg;
    EXPECT_EQ(svg.find("inf"), std::string::npos) << svg;
  }
}

TEST(Chart, NamesCannotBecomeMarkup) {
  const std::string hostile = "</text><script>alert('1')</script>\"&\x01\xff";
  BarChart bars{.text = {.title = hostile, .description = hostile, .x_label = hostile},
                .categories = {hostile},
                .series = {{hostile, {1}}, {hostile, {2}}}};
  ScatterChart points{.text = {.title = hostile}, .points = {{.x = 1, .y = 1, .label = hostile}}};
  FlameChart flame{.text = {.title = hostile}, .unit = hostile, .frames = {{hostile, 0, 1}}};
  for (const Chart& chart : std::vector<Chart>{bars, points, flame}) {
    const std::string svg = to_svg(chart);
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_EQ(svg.find('\x01'), std::string::npos);
    EXPECT_EQ(svg.find('\xff'), std::string::npos);
  }
}

TEST(Chart, AMillionPointsMakeASmallPictureWithItsPeaks) {
  LineChart chart{.text = {.title = "many", .y_label = "y"}, .series = {{"y", {}, {}}}};
  for (int i = 0; i < 1'000'000; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(i == 700'000 ? 5 : std::sin(i * 1e-4));
  }
  const std::string svg = to_svg(chart);
  EXPECT_LT(svg.size(), 60'000u);
  // The one high point is the picture's highest.
  const std::regex pair("[ML]([0-9.]+) ([0-9.]+)");
  double highest = 1e9, at = 0;
  for (std::sregex_iterator it(svg.begin(), svg.end(), pair), end; it != end; ++it) {
    if (std::stod((*it)[2]) < highest) highest = std::stod((*it)[2]), at = std::stod((*it)[1]);
  }
  EXPECT_NEAR(at / kChartWidth, 0.72, 0.03);
  EXPECT_LT(data_of(chart, 100).rows.size(), 101u);
}

TEST(Chart, TicksAreRoundAndApart) {
  const Ticks ticks = ticks_of(0.8888, 0.8911);
  std::vector<std::string> texts;
  for (const double value : ticks.values) texts.push_back(ticks.text(value));
  EXPECT_EQ(texts, (std::vector<std::string>{"0.8890", "0.8895", "0.8900", "0.8905", "0.8910"}));
  for (const double value : ticks_of(-0.5, 0.5).values) {
    EXPECT_NE(ticks_of(-0.5, 0.5).text(value), "-0.0");
  }
  EXPECT_EQ(ticks_of(0, 2, 6, 1).values, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(ticks_of(NAN, 1).values.size(), 1u);
  EXPECT_EQ(ticks_of(3, 3).values.size(), 1u);
  // Numbers so large that the next one is the same, and so close that nothing lies between.
  EXPECT_LE(ticks_of(1e17, 1e17 + 32, 6, 1).values.size(), 16u);
  EXPECT_EQ(ticks_of(0, 5e-324).values.size(), 1u);
}

TEST(Chart, AFrameLiesBelowTheOneThatHoldsIt) {
  const FlameChart chart{
      .text = {.title = "f"},
      .unit = "ms",
      .frames = {{"all", 0, 8}, {"a", 1, 4}, {"a1", 2, 1}, {"a2", 2, 3}, {"b", 1, 2}}};
  const std::string svg = to_svg(chart);
  const std::regex frame(
      "<rect class=\"frame[^\"]*\" x=\"([^\"]+)\" y=\"([^\"]+)\" width=\"([^\"]+)\"");
  std::vector<Box> boxes;
  for (std::sregex_iterator at(svg.begin(), svg.end(), frame), end; at != end; ++at) {
    const double left = std::stod((*at)[1]), top = std::stod((*at)[2]);
    boxes.push_back({left, top, left + std::stod((*at)[3]), top});
  }
  ASSERT_EQ(boxes.size(), 5u);
  EXPECT_NEAR(boxes[1].right - boxes[1].left, (boxes[0].right - boxes[0].left) / 2, 0.2);
  EXPECT_NEAR(boxes[3].left, boxes[2].right, 0.2);
  EXPECT_NEAR(boxes[3].right, boxes[1].right, 0.2);
  EXPECT_NEAR(boxes[4].left, boxes[1].right, 0.2);
  EXPECT_GT(boxes[2].top, boxes[1].top);
  EXPECT_EQ(boxes[4].top, boxes[1].top);
  EXPECT_EQ(data_of(chart).rows[3], (std::vector<std::string>{"all / a / a2", "3", "37.5"}));
}

TEST(Chart, ManySeriesDifferInColourOrDashes) {
  std::set<std::string> styles;
  for (size_t i = 0; i < 64; ++i) styles.insert(series_style(i));
  EXPECT_EQ(styles.size(), 64u);
}

TEST(Chart, ItsDataIsATable) {
  const DataTable table = data_of(BarChart{.text = {.title = "t", .y_label = "stage"},
                                           .categories = {"a", "b"},
                                           .series = {{"s", {0.5, NAN}}}});
  EXPECT_EQ(table.columns, (std::vector<std::string>{"stage", "s"}));
  EXPECT_EQ(table.rows, (std::vector<std::vector<std::string>>{{"a", "0.5"}, {"b", ""}}));
  EXPECT_EQ(short_number(81234.5), "81234");
  EXPECT_EQ(short_number(-0.0), "0");
  EXPECT_EQ(short_number(0.000012345), "1.234e-05");
}

}  // namespace
}  // namespace hone::report
