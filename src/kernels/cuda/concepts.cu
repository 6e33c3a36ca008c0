#include "kernels/cuda/concepts.h"

#include <algorithm>

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
// A block takes tiles of concepts and of texts, a thread 4 x 4 scores of them.
constexpr int kEach = 4;
constexpr int kTexts = kWarps * kEach;
constexpr int kConcepts = kWarp * kEach;
constexpr int kDepth = 16;  // columns that lie in shared memory; strides are multiples
constexpr int kPad = 4;
constexpr int kMostLists = 512;  // threads of the block that merges them

/// A concept that was found; those that rank first have higher scores, or lower indices.
struct Entry {
  float score;
  int32_t index;
};

__device__ __forceinline__ bool ranks_before(const Entry& a, const Entry& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}
/// Ranks behind all that can be found. A score that is no number ranks before none.
__device__ __forceinline__ Entry no_entry() { return {-INFINITY, INT32_MAX}; }

__device__ __forceinline__ Entry shuffled(const Entry& own, int offset) {
  return {__shfl_xor_sync(0xffffffffu, own.score, offset),
          __shfl_xor_sync(0xffffffffu, own.index, offset)};
}
__device__ __forceinline__ Entry best_of_warp(Entry own) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const Entry other = shuffled(own, offset);
    if (ranks_before(other, own)) own = other;
  }
  return own;
}

int64_t stride_of(int64_t width) { return ceil_div(width, kDepth) * kDepth; }
int64_t groups_of(int64_t texts) { return ceil_div(texts, kTexts); }
/// Gives the lists of each text's best that blocks keep, each of its own tiles of concepts.
int64_t lists_of(int64_t texts) {
  return std::clamp<int64_t>(2 * kMostLists / groups_of(texts), 1, kMostLists);
}

/// Makes the queries: u less the concepts' mean, brought to length 1, with zeros behind it. Rows
/// behind the texts are zeros. A block has a row.
__global__ void __launch_bounds__(kThreads)
    query_kernel(ConceptSearch a, int64_t stride, float* queries) {
  __shared__ double sums[kThreads];
  const int64_t text = blockIdx.x;
  const float* mean = a.table->mean;
  float* const to = queries + text * stride;
  double squares = 0;
  for (int64_t i = threadIdx.x; i < stride; i += kThreads) {
    const bool there = text < a.texts && i < a.width;
    float value = there ? a.u[text * a.width + i] : 0.0f;
    if (there && mean) value -= mean[i];
    to[i] = value;
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  if (!mean) return;
  sums[threadIdx.x] = squares;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < static_cast<unsigned>(half)) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  const auto norm = static_cast<float>(sqrt(sums[0]));
  for (int64_t i = threadIdx.x; i < stride; i += kThreads) {
    to[i] = norm > 0.0f ? to[i] / norm : 0.0f;
  }
}

/// A text's list of its best, which a warp keeps in the order of ranks.
struct List {
  Entry* entries;
  int64_t k;
  const int32_t* own;  ///< what the text must not find, ascending
  const int32_t* own_end;
  Entry last;  ///< entries[k - 1]

  __device__ bool excludes(int32_t index) const {
    const int32_t *low = own, *high = own_end;
    while (low < high) {
      const int32_t* middle = low + (high - low) / 2;
      if (*middle == index) return true;
      if (*middle < index) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return false;
  }

  /// Puts an entry, the same in all lanes, into its place; the last one leaves.
  __device__ void insert(const Entry& entry, int lane) {
    for (int64_t end = k - 1; end >= 0; end -= kWarp) {
      const int64_t at = end - lane;
      const Entry here = at >= 0 ? entries[at] : no_entry();
      const Entry before = at > 0 ? entries[at - 1] : no_entry();
      __syncwarp();
      if (at >= 0 && ranks_before(entry, here)) {
        entries[at] = at > 0 && ranks_before(entry, before) ? before : entry;
      }
      __syncwarp();
    }
    last = entries[k - 1];
  }

  /// Offers the lanes' scores of concepts from `first` on, each lane's one behind the other.
  __device__ void offer(const float* scores, const float* biases, int64_t first, int64_t count,
                        int lane) {
    Entry mine[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int64_t index = first + lane * kEach + i;
      mine[i] = no_entry();
      if (index < count) {
        mine[i] = {scores[i] + (biases ? biases[index] : 0.0f), static_cast<int32_t>(index)};
      }
    }
    for (;;) {
      Entry best = no_entry();
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        if (ranks_before(mine[i], best)) best = mine[i];
      }
      best = best_of_warp(best);
      if (!ranks_before(best, last)) return;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        if (mine[i].index == best.index) mine[i] = no_entry();
      }
      if (!excludes(best.index)) insert(best, lane);
    }
  }
};

/// Loads rows [first, first + count) of a tile, transposed.
template <int kRows>
__device__ __forceinline__ void load_tile(const float* from, int64_t first, int64_t count,
                                          int64_t stride, int64_t column,
                                          float (&tile)[kDepth][kRows + kPad]) {
  constexpr int kParts = kDepth / 4;
  for (int at = static_cast<int>(threadIdx.x); at < kRows * kParts; at += kThreads) {
    const int row = at / kParts, part = at % kParts * 4;
    float4 values = {};
    if (first + row < count) {
      values = *reinterpret_cast<const float4*>(from + (first + row) * stride + column + part);
    }
    tile[part][row] = values.x;
    tile[part + 1][row] = values.y;
    tile[part + 2][row] = values.z;
    tile[part + 3][row] = values.w;
  }
}

/// A warp has kEach texts, a lane kEach concepts of each tile. Block (x, y) keeps list x of texts
/// [y * kTexts, ...).
__global__ void __launch_bounds__(kThreads)
    search_kernel(ConceptSearch a, const float* queries, int64_t padded_texts, Entry* lists) {
  __shared__ __align__(16) float concepts[kDepth][kConcepts + kPad];
  __shared__ __align__(16) float texts[kDepth][kTexts + kPad];
  const ConceptTable table = *a.table;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int64_t first_text = int64_t{blockIdx.y} * kTexts;
  List own[kEach];
#pragma unroll
  for (int q = 0; q < kEach; ++q) {
    const int64_t text = first_text + warp * kEach + q;
    List& list = own[q];
    list = {lists + (text * gridDim.x + blockIdx.x) * a.k, a.k, nullptr, nullptr, no_entry()};
    for (int64_t i = lane; i < a.k; i += kWarp) list.entries[i] = no_entry();
    const int64_t row = a.rows && text < a.texts ? a.rows[text] : -1;
    if (row >= 0 && row < table.rows) {
      list.own = table.own + table.own_begins[row];
      list.own_end = table.own + table.own_begins[row + 1];
    }
  }
  __syncwarp();
  for (int64_t first = int64_t{blockIdx.x} * kConcepts; first < table.count;
       first += int64_t{gridDim.x} * kConcepts) {
    float scores[kEach][kEach] = {};
    for (int64_t column = 0; column < table.stride; column += kDepth) {
      __syncthreads();
      load_tile<kConcepts>(table.vectors, first, table.count, table.stride, column, concepts);
      load_tile<kTexts>(queries, first_text, padded_texts, table.stride, column, texts);
      __syncthreads();
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const float4 c = *reinterpret_cast<const float4*>(&concepts[d][lane * kEach]);
        const float4 t = *reinterpret_cast<const float4*>(&texts[d][warp * kEach]);
        const float own_texts[kEach] = {t.x, t.y, t.z, t.w};
#pragma unroll
        for (int q = 0; q < kEach; ++q) {
          scores[q][0] += own_texts[q] * c.x;
          scores[q][1] += own_texts[q] * c.y;
          scores[q][2] += own_texts[q] * c.z;
          scores[q][3] += own_texts[q] * c.w;
        }
      }
    }
#pragma unroll
    for (int q = 0; q < kEach; ++q) {
      if (first_text + warp * kEach + q >= a.texts) break;
      own[q].offer(scores[q], table.biases, first, table.count, lane);
    }
  }
}

/// A block has a text, a thread one of its lists, of which it offers the best that is left.
__global__ void __launch_bounds__(kMostLists)
    merge_kernel(ConceptSearch a, int64_t lists, const Entry* all) {
  __shared__ Entry bests[kMostLists / kWarp];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t text = blockIdx.x;
  const Entry* const own = all + (text * lists + thread) * a.k;
  int64_t next = 0;
  for (int64_t i = 0; i < a.k; ++i) {
    const Entry mine = thread < lists && next < a.k ? own[next] : no_entry();
    const Entry best = best_of_warp(mine);
    __syncthreads();
    if (thread % kWarp == 0) bests[thread / kWarp] = best;
    __syncthreads();
    Entry first = bests[0];
    for (int w = 1; w < kMostLists / kWarp; ++w) {
      if (ranks_before(bests[w], first)) first = bests[w];
    }
    const bool there = first.index != INT32_MAX;
    if (there && mine.index == first.index) ++next;
    if (thread > 0) continue;
    a.found[text * a.k + i] = there ? first.index : -1;
    a.similarity[text * a.k + i] = there ? first.score : 0.0f;
  }
}

__global__ void concept_vectors_kernel(const ConceptTable* table, const int32_t* found,
                                       int64_t width, float* y) {
  const ConceptTable t = *table;
  const int64_t index = found[blockIdx.x];
  float* const to = y + int64_t{blockIdx.x} * width;
  const bool there = index >= 0 && index < t.count;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    float value = there ? t.vectors[index * t.stride + i] : 0.0f;
    if (there && t.mean) value = value * t.norms[index] + t.mean[i];
    to[i] = value;
  }
}

}  // namespace

size_t search_concepts_workspace(int64_t texts, int64_t width, int64_t k) {
  const int64_t padded = groups_of(texts) * kTexts;
  return static_cast<size_t>(padded) *
         (static_cast<size_t>(stride_of(width)) * sizeof(float) +
          static_cast<size_t>(lists_of(std::max<int64_t>(texts, 1)) * k) * sizeof(Entry));
}

Status search_concepts(const ConceptSearch& args, void* workspace, Stream stream) {
  if (args.texts == 0 || args.k == 0) return nullptr;
  const int64_t groups = groups_of(args.texts), padded = groups * kTexts;
  const int64_t lists = lists_of(args.texts), stride = stride_of(args.width);
  auto* const queries = static_cast<float*>(workspace);
  auto* const entries = reinterpret_cast<Entry*>(queries + padded * stride);
  query_kernel<<<static_cast<unsigned>(padded), kThreads, 0, stream_of(stream)>>>(args, stride,
                                                                                  queries);
  if (const Status status = launched()) return status;
  const dim3 grid(static_cast<unsigned>(lists), static_cast<unsigned>(groups));
  search_kernel<<<grid, kThreads, 0, stream_of(stream)>>>(args, queries, padded, entries);
  if (const Status status = launched()) return status;
  merge_kernel<<<static_cast<unsigned>(args.texts), kMostLists, 0, stream_of(stream)>>>(args, lists,
                                                                                        entries);
  return launched();
}

Status concept_vectors(const ConceptTable* table, const int32_t* found, int64_t count,
                       int64_t width, float* y, Stream stream) {
  if (count == 0) return nullptr;
  concept_vectors_kernel<<<static_cast<unsigned>(count), 128, 0, stream_of(stream)>>>(table, found,
                                                                                      width, y);
  return launched();
}

}  // namespace hone::kernels::cuda
