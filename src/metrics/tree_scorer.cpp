#include "metrics/tree_scorer.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace hone::metrics {

void TreeScorer::add(Spans found, Spans gold, double loss) {
  std::sort(found.begin(), found.end());
  std::sort(gold.begin(), gold.end());
  Spans both;
  std::set_intersection(found.begin(), found.end(), gold.begin(), gold.end(),
                        std::back_inserter(both));
  matched_ += static_cast<double>(both.size());
  found_ += static_cast<double>(found.size());
  gold_ += static_cast<double>(gold.size());
  exact_ += found == gold;
  losses_.push_back(loss);
}

std::vector<double> TreeScorer::values() const {
  std::vector<double> values = {matched_, found_, gold_, exact_};
  values.insert(values.end(), losses_.begin(), losses_.end());
  return values;
}

void TreeScorer::merge(std::span<const double> values) {
  matched_ += values[0];
  found_ += values[1];
  gold_ += values[2];
  exact_ += values[3];
  losses_.insert(losses_.end(), values.begin() + 4, values.end());
}

double TreeScorer::loss() const {
  return std::accumulate(losses_.begin(), losses_.end(), 0.) / static_cast<double>(losses_.size());
}

std::vector<std::pair<std::string, double>> TreeScorer::results() const {
  const auto ratio = [](double part, double all) { return all > 0 ? part / all : 0; };
  return {{"f1", ratio(2 * matched_, found_ + gold_)},
          {"precision", ratio(matched_, found_)},
          {"recall", ratio(matched_, gold_)},
          {"exact", ratio(exact_, static_cast<double>(losses_.size()))}};
}

}  // namespace hone::metrics
