#include "study/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::study {
namespace {

constexpr double kMostOff = 0.10;
constexpr double kMostRanks = 1024;

/// How often a sum of N ranks waits for a latency, and how often the gradient passes a link.
double turns(double ranks) { return 2 * (ranks - 1); }
double passes(double ranks) { return (ranks - 1) / ranks; }

/// Fits busy = latency * turns + transfer * passes; neither may be negative.
void fit_link(const std::vector<MeasuredStep>& steps, StepModel& model) {
  double tt = 0, tp = 0, pp = 0, tb = 0, pb = 0;
  for (const MeasuredStep& step : steps) {
    if (step.ranks < 2) continue;
    const double t = turns(step.ranks), p = passes(step.ranks);
    tt += t * t;
    tp += t * p;
    pp += p * p;
    tb += t * step.busy_ms;
    pb += p * step.busy_ms;
  }
  const double determinant = tt * pp - tp * tp;
  model.latency_ms = (tb * pp - pb * tp) / determinant;
  model.transfer_ms = (pb * tt - tb * tp) / determinant;
  if (model.latency_ms < 0) {
    model.latency_ms = 0;
    model.transfer_ms = pb / pp;
  } else if (model.transfer_ms < 0) {
    model.transfer_ms = 0;
    model.latency_ms = tb / tt;
  }
}

}  // namespace

double StepModel::communication_ms(double ranks) const {
  return latency_ms * turns(ranks) + transfer_ms * passes(ranks);
}

double StepModel::step_ms(double ranks) const {
  const double busy = communication_ms(ranks);
  return compute_ms + std::max(busy - hidden_ms, exposed_share * busy);
}

double Prediction::off() const { return measured_ms > 0 ? modelled_ms / measured_ms - 1 : 0; }

std::vector<MeasuredStep> measured_steps(const std::vector<report::StudyRuns>& studies) {
  std::vector<MeasuredStep> steps;
  const report::CaseRuns* first = nullptr;
  for (const report::StudyRuns& study : studies) {
    for (const report::CaseRuns& runs : study.cases) {
      const double ranks = runs.number("ranks");
      const bool whole = !runs.fields.contains("fraction") || runs.number("fraction") == 1;
      const report::Spread step = runs.spread("step_ms");
      if (study.name != "scale" || runs.published || !whole || step.count == 0 || !(ranks >= 1)) {
        continue;
      }
      if (!first) first = &runs;
      if (runs.machine != first->machine || runs.text("model") != first->text("model")) {
        fail(ErrorKind::usage, "records: of several machines or models; expected those of one");
      }
      const report::Spread busy = runs.spread("communication_ms");
      const report::Spread exposed = runs.spread("exposed_ms");
      steps.push_back({ranks, step.median, busy.count > 0 ? busy.median : 0,
                       exposed.count > 0 ? exposed.median : 0});
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const MeasuredStep& a, const MeasuredStep& b) { return a.ranks < b.ranks; });
  return steps;
}

StepModel fit_steps(const std::vector<MeasuredStep>& steps) {
  const auto several = std::count_if(steps.begin(), steps.end(),
                                     [](const MeasuredStep& step) { return step.ranks >= 2; });
  if (steps.empty() || steps.front().ranks != 1 || several < 2) {
    fail(ErrorKind::usage, "records: expected runs of 1 rank and of two larger numbers");
  }
  StepModel model{.compute_ms = steps.front().step_ms, .exposed_share = 1};
  fit_link(steps, model);
  for (const MeasuredStep& step : steps) {
    if (step.ranks < 2) continue;
    model.hidden_ms = std::max(model.hidden_ms, step.busy_ms - step.exposed_ms);
    const double share = step.busy_ms > 0 ? step.exposed_ms / step.busy_ms : 1;
    model.exposed_share = std::min(model.exposed_share, std::max(share, 0.0));
  }
  return model;
}

Simulation simulate(const std::vector<MeasuredStep>& steps) {
  for (const double ranks : {1, 2, 4, 8}) {
    const bool there = std::any_of(steps.begin(), steps.end(),
                                   [&](const MeasuredStep& step) { return step.ranks == ranks; });
    if (!there) {
      fail(ErrorKind::usage, "records: have no run of scale with {} rank{} and all the data", ranks,
           ranks == 1 ? "" : "s");
    }
  }
  Simulation made{.model = fit_steps(steps)};
  bool near = true;
  for (const MeasuredStep& step : steps) {
    made.checked.push_back({step.ranks, made.model.step_ms(step.ranks), step.step_ms});
    near = near && std::abs(made.checked.back().off()) <= kMostOff;
  }
  for (double ranks = 8; near && ranks <= kMostRanks; ranks *= 2) {
    made.beyond.push_back({ranks, made.model.step_ms(ranks), 0});
  }
  return made;
}

report::Section section_of(const Simulation& simulation) {
  const StepModel& model = simulation.model;
  report::Section section{.heading = "Study: simulate (modelled)"};
  section.text = fmt::format(
      "Modelled, not measured: a step computes {:.4g} ms; a sum over ranks has a latency of {:.4g} "
      "ms a turn and moves the gradient in {:.4g} ms; up to {:.4g} ms of it pass meanwhile.",
      model.compute_ms, model.latency_ms, model.transfer_ms, model.hidden_ms);
  report::DataTable checked{.title = "simulate: modelled beside measured",
                            .columns = {"ranks", "modelled, ms", "measured, ms", "off, %"}};
  for (const Prediction& each : simulation.checked) {
    checked.rows.push_back(
        {report::short_number(each.ranks), report::short_number(each.modelled_ms),
         report::short_number(each.measured_ms), fmt::format("{:.1f}", 100 * each.off())});
  }
  section.tables.push_back(std::move(checked));
  if (simulation.beyond.empty()) {
    section.text += " A measured run is off by more than 10%, so nothing beyond is told.";
    return section;
  }
  report::DataTable beyond{.title = "simulate: modelled weak scaling",
                           .columns = {"ranks", "modelled step, ms", "modelled efficiency, %"}};
  report::ChartSeries line{.name = "modelled"};
  for (const Prediction& each : simulation.beyond) {
    const double efficiency = model.compute_ms / each.modelled_ms;
    beyond.rows.push_back({report::short_number(each.ranks), report::short_number(each.modelled_ms),
                           report::short_number(100 * efficiency)});
    line.x.push_back(each.ranks);
    line.y.push_back(efficiency);
  }
  section.tables.push_back(std::move(beyond));
  section.charts.emplace_back(report::LineChart{
      .text = {.title = "simulate: modelled efficiency by ranks",
               .description = "A rank's batch stays as it is; modelled, not measured.",
               .x_label = "ranks",
               .y_label = "modelled efficiency"},
      .series = {std::move(line)},
      .from_zero = true});
  return section;
}

}  // namespace hone::study
