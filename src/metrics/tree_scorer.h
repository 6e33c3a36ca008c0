#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hone::metrics {

/// Compares trees with those of a treebank by their unlabelled constituents of two words or more,
/// the whole left out: precision, recall and F1 over the constituents of all texts together.
class TreeScorer {
 public:
  using Spans = std::vector<std::pair<int32_t, int32_t>>;

  /// Adds a text. Neither list has the whole, or a span twice. `loss` is -log p(gold tree).
  void add(Spans found, Spans gold, double loss);

  /// Gives all that was added as numbers that another process can merge() behind its own.
  std::vector<double> values() const;
  void merge(std::span<const double> values);

  /// Gives the mean loss of a text.
  double loss() const;
  /// Gives f1, precision, recall, and exact, the share of texts whose tree is the treebank's. A
  /// ratio of nothing is 0.
  std::vector<std::pair<std::string, double>> results() const;

 private:
  double matched_ = 0;
  double found_ = 0;
  double gold_ = 0;
  double exact_ = 0;
  std::vector<double> losses_;  ///< one a text: their sum depends on the order
};

}  // namespace hone::metrics
