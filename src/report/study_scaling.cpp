#include <fmt/format.h>

#include <cmath>
#include <map>

#include "report/study_pictures.h"

namespace hone::report {
namespace {

/// Seconds of one machine's runs by share of the data and by ranks.
using Times = std::map<double, std::map<double, double>>;

struct ScalingLines {
  LineChart speed_up, efficiency, throughput;
};

LineChart chart_of(const std::string& study, const std::string& what, const std::string& said) {
  return {.text = {.title = fmt::format("{}: {} by ranks", study, what),
                   .description = said,
                   .x_label = "ranks",
                   .y_label = what},
          .from_zero = true};
}

/// Gives the time of one rank over the time of several at the same share of the data.
double speed_up_of(const Times& times, double share, double ranks) {
  const auto& of_share = times.at(share);
  const auto one = of_share.find(1), several = of_share.find(ranks);
  if (one == of_share.end() || several == of_share.end()) return NAN;
  return one->second / several->second;
}

/// Gives the largest number of ranks that had all the data: those of weak scaling have shares of
/// it.
double most_ranks(const Times& times) {
  const auto all = times.find(1);
  return all == times.end() || all->second.empty() ? 0 : all->second.rbegin()->first;
}

struct Point {
  double share, ranks;
};

/// Adds a line for each machine of the points that `chosen` gives, and their rows.
void add_lines(const std::map<std::string, Times>& machines, const std::string& kind,
               std::vector<Point> (*chosen)(const Times&), LineChart& speed_up,
               LineChart& efficiency, DataTable& table) {
  for (const auto& [machine, times] : machines) {
    const std::string name = machines.size() > 1 ? kind + " on " + machine : kind;
    ChartSeries gain{.name = name}, share_of_ideal{.name = name};
    for (const Point& point : chosen(times)) {
      const double value = speed_up_of(times, point.share, point.ranks);
      if (!std::isfinite(value)) continue;
      gain.x.push_back(point.ranks);
      gain.y.push_back(value);
      share_of_ideal.x.push_back(point.ranks);
      share_of_ideal.y.push_back(value / point.ranks);
      table.rows.push_back({name, short_number(point.ranks), short_number(100 * point.share),
                            short_number(times.at(point.share).at(1)),
                            short_number(times.at(point.share).at(point.ranks)),
                            short_number(value), short_number(100 * value / point.ranks)});
    }
    if (gain.x.empty()) continue;
    speed_up.series.push_back(std::move(gain));
    efficiency.series.push_back(std::move(share_of_ideal));
  }
}

std::vector<Point> strong_points(const Times& times) {
  std::vector<Point> points;
  const auto all = times.find(1);
  if (all == times.end()) return points;
  for (const auto& [ranks, seconds] : all->second) points.push_back({1, ranks});
  return points;
}

std::vector<Point> weak_points(const Times& times) {
  constexpr double kAlike = 1e-6;
  std::vector<Point> points;
  const double most = times.size() > 1 ? most_ranks(times) : 0;
  for (const auto& [share, by_ranks] : times) {
    for (const auto& [ranks, seconds] : by_ranks) {
      if (most > 1 && std::abs(share - ranks / most) < kAlike) points.push_back({share, ranks});
    }
  }
  return points;
}

}  // namespace

void add_scaling(const StudyRuns& study, Section& section) {
  for (const std::string& metric : study.metrics) {
    if (metric == "samples_per_second" || metric == "seconds" || metric == "seconds_to_loss") {
      section.charts.emplace_back(lines_of(study, "ranks", metric));
    }
  }
  for (const std::string metric : {"seconds", "seconds_to_loss"}) {
    std::map<std::string, Times> machines;
    for (const CaseRuns& runs : study.cases) {
      const double ranks = runs.number("ranks");
      const double share = runs.fields.contains("fraction") ? runs.number("fraction") : 1;
      const Spread spread = runs.spread(metric);
      if (spread.count > 0 && ranks >= 1) machines[runs.machine][share][ranks] = spread.median;
    }
    if (machines.empty()) continue;
    const std::string end = metric == "seconds" ? "" : ", by time to the loss";
    LineChart speed_up = chart_of(study.name, "speed-up" + end,
                                  "The time of one rank over the same data, divided by the time.");
    LineChart efficiency =
        chart_of(study.name, "efficiency" + end, "Speed-up divided by the ranks.");
    DataTable table{.title = study.name + ": strong and weak scaling" + end,
                    .columns = {"scaling", "ranks", "% of the data", "one rank, s", "ranks, s",
                                "speed-up", "efficiency, %"}};
    add_lines(machines, "strong", strong_points, speed_up, efficiency, table);
    add_lines(machines, "weak", weak_points, speed_up, efficiency, table);
    if (table.rows.empty()) continue;
    section.charts.emplace_back(std::move(speed_up));
    section.charts.emplace_back(std::move(efficiency));
    section.tables.push_back(std::move(table));
  }
  for (const char* x : {"epoch", "seconds"}) {
    LineChart curves = curves_of(study, x, "loss");
    if (!curves.series.empty()) section.charts.emplace_back(std::move(curves));
  }
}

void add_stages(const StudyRuns& study, Section& section) {
  DataTable table{.title = study.name + ": seconds and shares",
                  .columns = {"case", "stage", "seconds", "%"}};
  for (const CaseRuns& runs : study.cases) {
    PieChart pie{.text = {.title = "stages: " + study.label(runs),
                          .description = "Shares of the time of a run, by medians."},
                 .unit = "s"};
    double sum = 0;
    for (const char* stage : {"loading", "forward", "backward", "evaluation", "other"}) {
      const Spread spread = runs.spread(stage);
      if (spread.count == 0) continue;
      pie.slices.push_back({.name = stage, .value = std::max(0.0, spread.median)});
      sum += pie.slices.back().value;
    }
    for (const PieSlice& slice : pie.slices) {
      table.rows.push_back({study.label(runs), slice.name, short_number(slice.value),
                            short_number(sum > 0 ? 100 * slice.value / sum : 0)});
    }
    if (!pie.slices.empty()) section.charts.emplace_back(std::move(pie));
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
}

}  // namespace hone::report
