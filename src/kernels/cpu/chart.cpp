#include "kernels/cpu/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace hone::kernels {
namespace {

constexpr int64_t kTables = 5;

/// A number for each span [i, j). What a loop over the places between i and j reads lies one behind
/// the other: of spans that begin at i in a row, or, where it is made `by_end`, of spans that end
/// at j.
class Table {
 public:
  Table(void* workspace, int64_t index, int64_t words, bool by_end)
      : side_(words + 1),
        values_(static_cast<double*>(workspace) + index * side_ * side_),
        by_end_(by_end) {}

  double& at(int64_t i, int64_t j) { return values_[by_end_ ? j * side_ + i : i * side_ + j]; }
  double* row(int64_t bound) { return values_ + bound * side_; }
  void clear() { std::fill_n(values_, side_ * side_, 0.); }

 private:
  int64_t side_;
  double* values_;
  bool by_end_;
};

double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

/// Logarithms of sums over trees. A span's `inner` sum is over the ways to divide it into two
/// children or more; as a child of another it is that times e^score; a sequence of one child or
/// more over it is either. A sequence is put together from the left, a child at a time, which gives
/// each tree once.
struct Sums {
  Sums(int64_t words, void* workspace)
      : inner(workspace, 0, words, false),
        sequence(workspace, 1, words, false),
        child(workspace, 2, words, true) {}
  Table inner, sequence, child;
};

template <typename T>
void sum_inside(const T* scores, int64_t n, Sums& sums) {
  for (int64_t i = 0; i < n; ++i) sums.sequence.at(i, i + 1) = sums.child.at(i, i + 1) = 0;
  for (int64_t width = 2; width <= n; ++width) {
    for (int64_t i = 0; i + width <= n; ++i) {
      const int64_t j = i + width;
      const double* left = sums.sequence.row(i);
      const double* right = sums.child.row(j);
      double most = left[i + 1] + right[i + 1];
      for (int64_t k = i + 2; k < j; ++k) most = std::max(most, left[k] + right[k]);
      double sum = 0;
      for (int64_t k = i + 1; k < j; ++k) sum += std::exp(left[k] + right[k] - most);
      const double inner = most + std::log(sum);
      const auto score = static_cast<double>(scores[chart_cell(n, i, j)]);
      sums.inner.at(i, j) = inner;
      sums.child.at(i, j) = inner + score;
      sums.sequence.at(i, j) = inner + softplus(score);
    }
  }
}

/// Goes from the whole down: the derivative of the whole's sum by each of the others.
template <typename T>
void sum_outside(const T* scores, int64_t n, Sums& sums, void* workspace, T* marginals) {
  Table sequence(workspace, 3, n, false), child(workspace, 4, n, true);
  sequence.clear();
  child.clear();
  for (int64_t width = n; width >= 2; --width) {
    for (int64_t i = 0; i + width <= n; ++i) {
      const int64_t j = i + width;
      const int64_t cell = chart_cell(n, i, j);
      double inner = 1;
      if (width == n) {
        marginals[cell] = 1;
      } else {
        const double as_child = child.at(i, j), in_sequence = sequence.at(i, j);
        marginals[cell] =
            static_cast<T>(as_child + in_sequence * sigmoid(static_cast<double>(scores[cell])));
        inner = as_child + in_sequence;
      }
      if (inner == 0) continue;
      const double* left = sums.sequence.row(i);
      const double* right = sums.child.row(j);
      double* left_out = sequence.row(i);
      double* right_out = child.row(j);
      const double whole = sums.inner.at(i, j);
      for (int64_t k = i + 1; k < j; ++k) {
        const double share = inner * std::exp(left[k] + right[k] - whole);
        left_out[k] += share;
        right_out[k] += share;
      }
    }
  }
}

}  // namespace

size_t chart_workspace() {
  constexpr size_t kSide = kMostChartWords + 1;
  return kTables * kSide * kSide * sizeof(double);
}

template <typename T>
double tree_partition(const T* scores, int64_t words, T* marginals, void* workspace) {
  if (words < 2) return 0;
  Sums sums(words, workspace);
  sum_inside(scores, words, sums);
  if (marginals) sum_outside(scores, words, sums, workspace, marginals);
  return sums.inner.at(0, words);
}

template <typename T>
int64_t best_tree(const T* scores, int64_t words, double threshold, int32_t* spans,
                  void* workspace) {
  if (words < 2) return 0;
  Table from_left(workspace, 0, words, false), from_right(workspace, 1, words, true);
  Table split(workspace, 2, words, false);
  for (int64_t i = 0; i < words; ++i) from_left.at(i, i + 1) = from_right.at(i, i + 1) = 0;
  const auto gain = [&](int64_t i, int64_t j) {
    return static_cast<double>(scores[chart_cell(words, i, j)]) - threshold;
  };
  for (int64_t width = 2; width <= words; ++width) {
    for (int64_t i = 0; i + width <= words; ++i) {
      const int64_t j = i + width;
      const double* left = from_left.row(i);
      const double* right = from_right.row(j);
      int64_t best = i + 1;
      for (int64_t k = i + 2; k < j; ++k) {
        if (left[k] + right[k] > left[best] + right[best]) best = k;
      }
      split.at(i, j) = static_cast<double>(best);
      from_left.at(i, j) = from_right.at(i, j) =
          left[best] + right[best] + std::max(0., gain(i, j));
    }
  }
  std::array<std::pair<int64_t, int64_t>, kMostChartWords> open;
  size_t depth = 0;
  open[depth++] = {0, words};
  int64_t count = 0;
  while (depth > 0) {
    const auto span = open[--depth];
    const int64_t i = span.first, j = span.second;
    if (j - i < 2) continue;
    if (j - i == words || gain(i, j) > 0) {
      spans[2 * count] = static_cast<int32_t>(i);
      spans[2 * count + 1] = static_cast<int32_t>(j);
      ++count;
    }
    const auto middle = static_cast<int64_t>(split.at(i, j));
    open[depth++] = {middle, j};
    open[depth++] = {i, middle};
  }
  return count;
}

template double tree_partition(const float*, int64_t, float*, void*);
template double tree_partition(const double*, int64_t, double*, void*);
template int64_t best_tree(const float*, int64_t, double, int32_t*, void*);
template int64_t best_tree(const double*, int64_t, double, int32_t*, void*);

}  // namespace hone::kernels
