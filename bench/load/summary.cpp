#include "load/summary.h"

#include <algorithm>
#include <cmath>

namespace hone::load {
namespace {

OrderedJson latencies(const std::vector<double>& seconds) {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) { return std::round(percentile(sorted, share) * 1e6) / 1e3; };
  return {{"count", sorted.size()}, {"p50_ms", at(0.5)},     {"p90_ms", at(0.9)},
          {"p99_ms", at(0.99)},     {"p99.9_ms", at(0.999)}, {"max_ms", at(1)}};
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

OrderedJson summarize(const PhaseResult& result, const Phase& phase, const Options& options) {
  OrderedJson statuses = OrderedJson::object(), errors = OrderedJson::object();
  for (const auto& [status, count] : result.statuses) statuses[std::to_string(status)] = count;
  for (const auto& [reason, count] : result.errors) errors[reason] = count;
  const auto ok = result.statuses.find(200);
  const double lag = percentile(result.lag, 0.99) * 1e3;
  OrderedJson json = {
      {"sent", result.sent},
      {"ok", ok == result.statuses.end() ? 0 : ok->second},
      {"statuses", statuses},
      {"errors", errors},
      {"abandoned", result.abandoned},
      {"accepted", latencies(result.accepted)},
      {"refused", latencies(result.refused)},
      {"refused_with_retry_after", result.retry_after},
      {"seconds", phase.seconds},
      {"texts_per_second", static_cast<double>(result.completed) * options.batch / phase.seconds}};
  if (options.closed == 0) {
    json["rate"] = phase.rate;
    json["held_for_a_connection"] = result.held;
    json["generator_lag_p99_ms"] = std::round(lag * 1e3) / 1e3;
    json["valid"] = lag <= options.max_lag_ms;
  } else {
    json["valid"] = true;
  }
  return json;
}

}  // namespace hone::load
