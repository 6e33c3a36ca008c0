#include "models/exit_cost.h"

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"

namespace hone::models {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

}  // namespace

std::vector<double> ExitCost::shares() const {
  std::vector<double> sums(layer_ms.size());
  std::partial_sum(layer_ms.begin(), layer_ms.end(), sums.begin());
  for (double& sum : sums) sum /= std::accumulate(layer_ms.begin(), layer_ms.end(), 0.);
  return sums;
}

ExitCost read_exit_cost(const std::string& path) {
  const Json json = parse_json(read_file(path, kMostBytes), path);
  const JsonFields fields(json, path);
  ExitCost cost{fields.string("model"), fields.string("device"), fields.string("machine", ""), {}};
  const Json& list = fields.at("layer_ms");
  if (!list.is_array() || list.empty()) fields.fail_field("layer_ms", "expected a list of numbers");
  for (const Json& value : list) {
    const double ms = value.is_number() ? value.get<double>() : -1;
    if (!(ms > 0) || ms > 1e9) fields.fail_field("layer_ms", "expected milliseconds above 0");
    cost.layer_ms.push_back(ms);
  }
  return cost;
}

void write_exit_cost(const ExitCost& cost, const std::string& path) {
  write_json(path, {{"model", cost.model},
                    {"device", cost.device},
                    {"machine", cost.machine},
                    {"layer_ms", cost.layer_ms}});
}

}  // namespace hone::models
