#include "kernels/cuda/chart.h"

#include "kernels/cpu/chart.h"
#include "kernels/cuda/chart.cuh"
#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

// A block has a text: the spans of one width at a time, each a warp's, whose lanes go through the
// places between the span's ends.
constexpr int kThreads = 512;
constexpr int kWarp = 32;

__device__ __forceinline__ double warp_sum_double(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}
__device__ __forceinline__ double warp_max_double(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    value = fmax(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}
__device__ __forceinline__ double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }
__device__ __forceinline__ double sigmoid(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

/// A text's chart. Its tables have a number for each span [i, j), those in the second list by end:
/// what a loop over the places between i and j reads lies one behind the other.
struct Chart {
  __device__ Chart(const Spans& spans, int64_t text, void* workspace) {
    const int first = spans.bound_offsets[text];
    words = spans.bound_offsets[text + 1] - first - 1;
    cell = spans.cell_offsets[text];
    side = words + 1;
    tables =
        static_cast<double*>(workspace) + (2 * int64_t{cell} + 3 * int64_t{first} - 2 * text) * 5;
  }
  __device__ double* row(int table, int bound) const {
    return tables + (int64_t{table} * side + bound) * side;
  }
  __device__ double& by_begin(int table, int i, int j) const { return row(table, i)[j]; }
  __device__ double& by_end(int table, int i, int j) const { return row(table, j)[i]; }
  __device__ int at(int i, int j) const { return chart_cell(words, i, j); }

  /// Calls body(i, j, lane) in a warp for each span of a width, and waits for all of them.
  template <typename Body>
  __device__ void each_span(int width, const Body& body) const {
    for (int i = static_cast<int>(threadIdx.x) / kWarp; i + width <= words; i += kThreads / kWarp) {
      body(i, i + width, static_cast<int>(threadIdx.x) % kWarp);
    }
    __syncthreads();
  }

  int words;
  int cell;  ///< the text's first cell
  int side;
  double* tables;
};

// The tables of sums: those over trees, over sequences of children, of a span as a child, and the
// derivatives of the last two. See kernels/cpu/chart.cpp, whose formulas these are.
enum Sums { kInner, kSequence, kChild, kSequenceOut, kChildOut };
enum Best { kFromLeft, kFromRight, kSplit };

/// Sets a table pair of single words to 0.
__device__ void clear_words(const Chart& chart, int left, int right) {
  for (int i = static_cast<int>(threadIdx.x); i < chart.words; i += kThreads) {
    chart.by_begin(left, i, i + 1) = chart.by_end(right, i, i + 1) = 0;
  }
  __syncthreads();
}

__device__ void sum_inside(const Chart& chart, const float* scores) {
  clear_words(chart, kSequence, kChild);
  for (int width = 2; width <= chart.words; ++width) {
    chart.each_span(width, [&](int i, int j, int lane) {
      const double* left = chart.row(kSequence, i);
      const double* right = chart.row(kChild, j);
      double most = -INFINITY, sum = 0;
      for (int k = i + 1 + lane; k < j; k += kWarp) most = fmax(most, left[k] + right[k]);
      most = warp_max_double(most);
      for (int k = i + 1 + lane; k < j; k += kWarp) sum += exp(left[k] + right[k] - most);
      sum = warp_sum_double(sum);
      if (lane > 0) return;
      const double inner = most + log(sum), score = scores[chart.at(i, j)];
      chart.by_begin(kInner, i, j) = inner;
      chart.by_end(kChild, i, j) = inner + score;
      chart.by_begin(kSequence, i, j) = inner + softplus(score);
    });
  }
}

/// Goes from the whole down. Spans of one width begin and end apart, so that each adds to rows of
/// its own.
__device__ void sum_outside(const Chart& chart, const float* scores, float* marginals) {
  for (int at = static_cast<int>(threadIdx.x); at < chart.side * chart.side; at += kThreads) {
    chart.row(kSequenceOut, 0)[at] = chart.row(kChildOut, 0)[at] = 0;
  }
  __syncthreads();
  for (int width = chart.words; width >= 2; --width) {
    chart.each_span(width, [&](int i, int j, int lane) {
      const int cell = chart.at(i, j);
      double inner = 1, marginal = 1;
      if (width < chart.words) {
        const double as_child = chart.by_end(kChildOut, i, j);
        const double in_sequence = chart.by_begin(kSequenceOut, i, j);
        marginal = as_child + in_sequence * sigmoid(scores[cell]);
        inner = as_child + in_sequence;
      }
      if (lane == 0) marginals[cell] = static_cast<float>(marginal);
      if (inner == 0) return;
      const double* left = chart.row(kSequence, i);
      const double* right = chart.row(kChild, j);
      double* left_out = chart.row(kSequenceOut, i);
      double* right_out = chart.row(kChildOut, j);
      const double whole = chart.by_begin(kInner, i, j);
      for (int k = i + 1 + lane; k < j; k += kWarp) {
        const double share = inner * exp(left[k] + right[k] - whole);
        left_out[k] += share;
        right_out[k] += share;
      }
    });
  }
}

/// Adds up over the block, in one order; all threads get the sum.
__device__ double block_sum(double value) {
  __shared__ double sums[kThreads];
  sums[threadIdx.x] = value;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}

/// The block behind the last text's clears what is no text's.
__global__ void __launch_bounds__(kThreads) tree_loss_kernel(TreeLoss a, void* workspace) {
  const int64_t text = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  if (text == a.spans.texts) {
    for (int64_t i = a.spans.cell_offsets[text] + thread; a.dscores && i < a.spans.cells;
         i += kThreads) {
      a.dscores[i] = 0.0f;
    }
    return;
  }
  const Chart chart(a.spans, text, workspace);
  const int cells = a.spans.cell_offsets[text + 1] - chart.cell;
  float* const slopes = a.dscores ? a.dscores + chart.cell : nullptr;
  if ((a.given && a.given[text] == 0) || chart.words < 2) {
    for (int i = thread; slopes && i < cells; i += kThreads) slopes[i] = 0.0f;
    if (thread == 0) a.losses[text] = 0;
    return;
  }
  const float* const scores = a.scores + chart.cell;
  const int32_t* const gold = a.gold + chart.cell;
  sum_inside(chart, scores);
  if (slopes) sum_outside(chart, scores, slopes);
  const double factor = a.scale->scale * a.weight / a.scale->count;
  // The whole is a constituent of every tree, and its score is read by nobody.
  const int whole = chart.at(0, chart.words);
  double sum = 0;
  for (int i = thread; i < cells; i += kThreads) {
    if (i != whole) sum += gold[i] * static_cast<double>(scores[i]);
    if (!slopes) continue;
    const double error = i == whole ? 0 : static_cast<double>(slopes[i]) - gold[i];
    slopes[i] = static_cast<float>(factor * error);
  }
  sum = block_sum(sum);
  if (thread == 0) a.losses[text] = chart.by_begin(kInner, 0, chart.words) - sum;
}

__global__ void __launch_bounds__(kThreads) tree_loss_total_kernel(TreeLoss a) {
  double sum = 0;
  for (int64_t text = threadIdx.x; text < a.spans.texts; text += kThreads) sum += a.losses[text];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *a.total = a.weight * sum / a.scale->count;
}

/// Fills the tables of the best trees, as kernels::best_tree() does.
__device__ void find_best(const Chart& chart, const float* marginals, double threshold) {
  clear_words(chart, kFromLeft, kFromRight);
  for (int width = 2; width <= chart.words; ++width) {
    chart.each_span(width, [&](int i, int j, int lane) {
      const double* left = chart.row(kFromLeft, i);
      const double* right = chart.row(kFromRight, j);
      double most = -INFINITY;
      int best = j;
      for (int k = i + 1 + lane; k < j; k += kWarp) {
        const double sum = left[k] + right[k];
        if (best == j || sum > most) {
          most = sum;
          best = k;
        }
      }
      for (int offset = kWarp / 2; offset > 0; offset /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, most, offset);
        const int at = __shfl_xor_sync(0xffffffffu, best, offset);
        if (other > most || (other == most && at < best)) {
          most = other;
          best = at;
        }
      }
      if (lane > 0) return;
      const double gain = static_cast<double>(marginals[chart.at(i, j)]) - threshold;
      chart.by_begin(kSplit, i, j) = best;
      chart.by_begin(kFromLeft, i, j) = chart.by_end(kFromRight, i, j) = most + fmax(0.0, gain);
    });
  }
}

/// Writes the best tree's constituents but the whole as token rows, at most `places`.
__device__ void write_phrases(const Chart& chart, const ParsePhrases& a, const float* marginals,
                              int64_t text, int places, int32_t* to) {
  const int32_t* behind = a.spans.behind + a.spans.bound_offsets[text];
  const int32_t* before = a.spans.before + a.spans.bound_offsets[text];
  int begins[kMostChartWords], ends[kMostChartWords];
  int depth = 1;
  begins[0] = 0;
  ends[0] = chart.words;
  while (depth > 0 && places > 0) {
    --depth;
    const int i = begins[depth], j = ends[depth];
    if (j - i < 2) continue;
    const double gain = static_cast<double>(marginals[chart.at(i, j)]) - a.threshold;
    if (j - i < chart.words && gain > 0) {
      *to++ = behind[i];
      *to++ = before[j] + 1;
      --places;
    }
    const int middle = static_cast<int>(chart.by_begin(kSplit, i, j));
    begins[depth] = middle;
    ends[depth++] = j;
    begins[depth] = i;
    ends[depth++] = middle;
  }
}

__global__ void __launch_bounds__(kThreads) parse_phrases_kernel(ParsePhrases a, void* workspace) {
  const int64_t text = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const bool there = text < a.spans.texts;
  const int64_t first = a.phrases[text], end = there ? a.phrases[text + 1] : a.places;
  const bool given = there && a.given[text] != 0;
  for (int64_t i = 2 * first + thread; i < 2 * end; i += kThreads) {
    a.out[i] = given ? a.known[i] : 0;
  }
  if (!there || given || end == first) return;
  const Chart chart(a.spans, text, workspace);
  const float* const scores = a.scores + chart.cell;
  float* const marginals = a.marginals + chart.cell;
  sum_inside(chart, scores);
  sum_outside(chart, scores, marginals);
  find_best(chart, marginals, a.threshold);
  if (thread > 0) return;
  write_phrases(chart, a, marginals, text, static_cast<int>(end - first), a.out + 2 * first);
}

}  // namespace

Status tree_loss(const TreeLoss& args, void* workspace, Stream stream) {
  tree_loss_kernel<<<static_cast<unsigned>(args.spans.texts + 1), kThreads, 0, stream_of(stream)>>>(
      args, workspace);
  if (const Status status = launched()) return status;
  tree_loss_total_kernel<<<1, kThreads, 0, stream_of(stream)>>>(args);
  return launched();
}

Status parse_phrases(const ParsePhrases& args, void* workspace, Stream stream) {
  parse_phrases_kernel<<<static_cast<unsigned>(args.spans.texts + 1), kThreads, 0,
                         stream_of(stream)>>>(args, workspace);
  return launched();
}

}  // namespace hone::kernels::cuda
