#include <fmt/format.h>

#include "base/file.h"
#include "report/chart.h"
#include "study/exit_curve.h"

namespace hone::study {
namespace {

double speed_up(const ExitCurve& curve, const ExitPoint& point) {
  return curve.whole.seconds_32 / point.seconds_32;
}

Json to_json(const ExitCurve& curve, const ExitPoint& point) {
  return {{"setting", point.name()},
          {curve.metric, point.score},
          {"mean_layers", point.layers},
          {"ms_batch_1", 1e3 * point.seconds_one},
          {"ms_batch_32", 1e3 * point.seconds_32},
          {"speed_up_batch_1", curve.whole.seconds_one / point.seconds_one},
          {"speed_up_batch_32", speed_up(curve, point)}};
}

}  // namespace

Json to_json(const ExitCurve& curve) {
  Json points = Json::array();
  for (const ExitPoint& point : curve.points) points.push_back(to_json(curve, point));
  return {
      {"metric", curve.metric},
      {"samples", curve.samples},
      {"layers", curve.depth},
      {"all_layers", to_json(curve, curve.whole)},
      {"points", points},
      {"chosen",
       curve.chosen < 0 ? Json() : Json(curve.points[static_cast<size_t>(curve.chosen)].name())}};
}

std::string to_csv(const ExitCurve& curve) {
  std::string out = fmt::format(
      "setting,{},mean_layers,ms_batch_1,ms_batch_32,speed_up_batch_1,speed_up_batch_32\n",
      curve.metric);
  const auto row = [&](const ExitPoint& point) {
    out += fmt::format("{},{:.6f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", point.name(), point.score,
                       point.layers, 1e3 * point.seconds_one, 1e3 * point.seconds_32,
                       curve.whole.seconds_one / point.seconds_one, speed_up(curve, point));
  };
  row(curve.whole);
  for (const ExitPoint& point : curve.points) row(point);
  return out;
}

std::string to_svg(const ExitCurve& curve) {
  report::ScatterChart chart;
  chart.text = {.title = fmt::format("{} by speed-up, {} samples", curve.metric, curve.samples),
                .description = "Every setting of the exits; the one that was chosen is filled.",
                .x_label = "measured speed-up in batches of 32",
                .y_label = curve.metric};
  chart.points.push_back({.x = 1, .y = curve.whole.score, .label = "all layers"});
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const ExitPoint& point = curve.points[i];
    const bool chosen = static_cast<int64_t>(i) == curve.chosen;
    chart.points.push_back(
        {.x = speed_up(curve, point), .y = point.score, .label = point.name(), .chosen = chosen});
  }
  return report::to_svg(chart);
}

void store_exits(const std::string& folder, const ExitCurve& curve) {
  write_json(folder + "/exit_curve.json", to_json(curve));
  write_file(folder + "/exit_curve.csv", to_csv(curve));
  write_file(folder + "/exit_curve.svg", to_svg(curve));
  if (curve.chosen < 0) return;
  const std::string file = folder + "/config.json";
  Json config = parse_json(read_file(file), file);
  models::write_exits(curve.points[static_cast<size_t>(curve.chosen)].settings, config);
  write_json(file, config);
}

}  // namespace hone::study
