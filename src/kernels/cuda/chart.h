#pragma once

#include "kernels/cuda/loss.h"
#include "kernels/cuda/span_rows.h"

/// Charts over the words of packed texts: what kernels/cpu/chart.h computes for one, with sums in
/// fp64. Each text's chart has a place of its own in the workspace.
namespace hone::kernels::cuda {

/// Gives the bytes of all charts of so many bounds and cells.
inline size_t chart_workspace(int64_t bounds, int64_t cells) {
  // A text of n words has five tables of (n + 1)^2 = 2 n (n - 1) / 2 + 3 (n + 1) - 2 numbers.
  return static_cast<size_t>(2 * cells + 3 * bounds) * 5 * sizeof(double);
}

/// The loss over whole trees, as ops::tree_loss() defines it. Of `spans` it reads offsets and
/// sizes.
struct TreeLoss {
  Spans spans;
  const float* scores = nullptr;     ///< [cells]
  const int32_t* gold = nullptr;     ///< [cells]
  const int32_t* given = nullptr;    ///< [texts], 0: the text counts for nothing; null: all count
  const LossScale* scale = nullptr;  ///< lies in device memory
  double weight = 1;
  double* losses = nullptr;  ///< = [texts]
  double* total = nullptr;   ///< = [1]
  float* dscores = nullptr;  ///< = [cells], rows behind the texts' 0; null: not wanted
};
Status tree_loss(const TreeLoss& args, void* workspace, Stream stream);

/// The phrases of texts, as ops::parse_phrases() defines them.
struct ParsePhrases {
  Spans spans;
  int64_t places = 0;                ///< rows of `known` and `out`
  const float* scores = nullptr;     ///< [cells]
  const int32_t* given = nullptr;    ///< [texts]
  const int32_t* phrases = nullptr;  ///< [texts + 1], where each text's places begin
  const int32_t* known = nullptr;    ///< [places, 2]
  double threshold = 0;
  float* marginals = nullptr;  ///< = [cells]
  int32_t* out = nullptr;      ///< = [places, 2]
};
Status parse_phrases(const ParsePhrases& args, void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
