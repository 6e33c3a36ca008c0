#include "study/money.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::study {
namespace {

constexpr double kSecondsOfHour = 3600;
constexpr int64_t kMostNodes = 1'000'000;

std::string nodes_text(const Choice& choice) {
  std::string text;
  for (const auto& [device, count] : choice.nodes) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", count, device);
  }
  return text;
}

int64_t count_of(const Choice& choice) {
  int64_t count = 0;
  for (const auto& [device, nodes] : choice.nodes) count += nodes;
  return count;
}

/// Gives the device of a machine's label that has a price; the price's device must be named in it.
std::string priced_device(const report::CaseRuns& runs, const std::vector<Price>& prices) {
  const std::string named = runs.text("device");
  for (const Price& price : prices) {
    if (price.device == named || runs.machine.find(price.device) != std::string::npos) {
      return price.device;
    }
  }
  return {};
}

}  // namespace

std::vector<Choice> choices_of(const Json& list, const std::string& file) {
  std::vector<Choice> choices;
  for (const Json& each : list) {
    const JsonFields fields(each, file);
    Choice choice{.name = fields.string("choice"), .seconds = fields.number("seconds")};
    const JsonFields nodes = fields.object("nodes");
    for (const auto& [device, count] : each.at("nodes").items()) {
      choice.nodes[device] = nodes.integer(device.c_str(), 1, kMostNodes);
    }
    if (fields.has("published_total")) choice.published_total = fields.number("published_total");
    choices.push_back(std::move(choice));
  }
  return choices;
}

std::vector<Choice> choices_of(const std::vector<report::StudyRuns>& studies,
                               const std::vector<Price>& prices) {
  std::vector<Choice> choices;
  for (const report::StudyRuns& study : studies) {
    for (const report::CaseRuns& runs : study.cases) {
      const report::Spread seconds = runs.spread("seconds");
      if (runs.published || seconds.count == 0) continue;
      const std::string device = priced_device(runs, prices);
      if (device.empty()) {
        fail(ErrorKind::usage, "prices: no device of them is in {}", quote(runs.machine));
      }
      const double nodes = runs.number("nodes");
      choices.push_back(
          {.name = fmt::format("{}: {}", study.name, study.label(runs)),
           .nodes = {{device,
                      std::isfinite(nodes) ? std::max<int64_t>(1, std::llround(nodes)) : 1}},
           .seconds = seconds.median});
    }
  }
  if (choices.empty()) fail(ErrorKind::bad_file, "records: no case has a time");
  return choices;
}

double total_of(const Choice& choice, const std::vector<Price>& prices) {
  double per_hour = 0;
  for (const auto& [device, nodes] : choice.nodes) {
    const Price* price = find_price(prices, device);
    if (!price) fail(ErrorKind::usage, "prices: {} has no price", quote(device));
    per_hour += price->per_hour * static_cast<double>(nodes);
  }
  return per_hour * choice.seconds / kSecondsOfHour;
}

std::string fault_of(const Choice& choice, double total) {
  constexpr double kAlike = 0.005;  // published times are rounded
  if (!choice.published_total) return {};
  const int64_t nodes = count_of(choice);
  for (int64_t billed = 1; billed < nodes; ++billed) {
    const double less = total * static_cast<double>(billed) / static_cast<double>(nodes);
    if (std::abs(less - *choice.published_total) > kAlike * less) continue;
    return fmt::format("published as {:.2f}: bills {} of {} nodes", *choice.published_total, billed,
                       nodes);
  }
  if (std::abs(total - *choice.published_total) <= kAlike * total) return {};
  return fmt::format("published as {:.2f}", *choice.published_total);
}

BestChoices best_of(const std::vector<Choice>& choices, const std::vector<Price>& prices,
                    double deadline) {
  BestChoices best;
  const auto at = [&](int64_t index) -> const Choice& {
    return choices[static_cast<size_t>(index)];
  };
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const double total = total_of(choices[i], prices);
    const auto cheaper = [&](int64_t than) {
      return than < 0 || total < total_of(at(than), prices);
    };
    if (cheaper(best.cheapest)) best.cheapest = index;
    if (best.fastest < 0 || choices[i].seconds < at(best.fastest).seconds) best.fastest = index;
    if (deadline > 0 && choices[i].seconds <= deadline && cheaper(best.by_deadline)) {
      best.by_deadline = index;
    }
  }
  return best;
}

report::Section money_section(const std::vector<Choice>& choices, const std::vector<Price>& prices,
                              double deadline) {
  const std::string currency = prices.front().currency;
  report::Section section{.heading = "Study: money"};
  report::DataTable list{.title = "money: prices",
                         .columns = {"device", "per hour", "currency", "date", "source"}};
  for (const Price& price : prices) {
    list.rows.push_back({price.device, fmt::format("{:.4g}", price.per_hour), price.currency,
                         price.date, price.source});
  }
  report::DataTable table{.title = "money: total cost",
                          .columns = {"choice", "nodes", "seconds", "total, " + currency, "note"}};
  report::BarChart bars{.text = {.title = "money: total cost",
                                 .description = "Hours times nodes times the price of an hour.",
                                 .x_label = currency,
                                 .y_label = "choice"},
                        .series = {{.name = currency}}};
  for (const Choice& choice : choices) {
    const double total = total_of(choice, prices);
    table.rows.push_back({choice.name, nodes_text(choice), report::short_number(choice.seconds),
                          fmt::format("{:.2f}", total), fault_of(choice, total)});
    bars.categories.push_back(choice.name);
    bars.series[0].values.push_back(total);
  }
  const BestChoices best = best_of(choices, prices, deadline);
  const auto name = [&](int64_t index) { return choices[static_cast<size_t>(index)].name; };
  section.text = fmt::format("Cheapest: {}. Fastest: {}.", name(best.cheapest), name(best.fastest));
  if (deadline > 0) {
    section.text += best.by_deadline < 0 ? fmt::format(" Nothing is done within {:g} s.", deadline)
                                         : fmt::format(" Cheapest within {:g} s: {}.", deadline,
                                                       name(best.by_deadline));
  }
  section.tables = {std::move(list), std::move(table)};
  section.charts.emplace_back(std::move(bars));
  return section;
}

}  // namespace hone::study
