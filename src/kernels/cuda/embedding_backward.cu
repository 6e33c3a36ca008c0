#include "kernels/cuda/embedding_backward.h"

#include "kernels/cuda/common.cuh"

// Tokens are put in the order of their ids by counting, for each token, the tokens that come before
// it: tokens^2 comparisons, but one launch (at 16,384 tokens 0.3 G comparisons). A row's tokens are
// then summed in runs; rows of more than one run are added up from scratch memory.

namespace hone::kernels::cuda {
namespace {

constexpr int kRankThreads = 256;
constexpr int kRun = 32;  ///< tokens; the last run of a row takes up to 2 * kRun - 1
constexpr int kTables = 3;

/// One token at its place in the order.
struct Place {
  int32_t token;
  int32_t id;
  int32_t index;  ///< among the tokens of its id
  int32_t count;  ///< of the tokens of its id
};

struct Ids {
  const int32_t* ids[kTables];
};

__global__ void __launch_bounds__(kRankThreads)
    rank_kernel(Ids tables, int tokens, Place* places) {
  __shared__ int32_t others[kRankThreads];
  const int32_t* ids = tables.ids[blockIdx.y];
  const int token = static_cast<int>(blockIdx.x * kRankThreads + threadIdx.x);
  const int32_t id = token < tokens && ids ? ids[token] : 0;
  int smaller = 0, before = 0, count = 0;
  for (int base = 0; base < tokens; base += kRankThreads) {
    const int mine = base + static_cast<int>(threadIdx.x);
    __syncthreads();
    others[threadIdx.x] = mine < tokens ? (ids ? ids[mine] : 0) : INT32_MAX;
    __syncthreads();
#pragma unroll 16
    for (int i = 0; i < kRankThreads; ++i) {
      const int32_t other = others[i];
      smaller += other < id;
      count += other == id;
      before += other == id && base + i < token;
    }
  }
  if (token < tokens) {
    places[int64_t{blockIdx.y} * tokens + smaller + before] = {token, id, before, count};
  }
}

/// Whether a run starts at this place, and how many tokens it takes.
__device__ __forceinline__ int run_length(const Place& place) {
  const int runs = place.count / kRun > 1 ? place.count / kRun : 1;
  if (place.index % kRun != 0 || place.index / kRun >= runs) return 0;
  return place.index / kRun == runs - 1 ? place.count - place.index : kRun;
}
/// Runs of rows with more than one are kRun places apart or more, so this is theirs alone.
__device__ __forceinline__ int64_t run_slot(int64_t place) { return place / kRun; }

struct Gradients {
  float* dtable[kTables];
  float* partials;  ///< [kTables][slots][width]
  int64_t slots;
};

template <typename T, bool kAligned>
__global__ void sum_runs_kernel(const T* dsum, int tokens, int width, const Place* places,
                                Gradients gradients) {
  float* dtable = gradients.dtable[blockIdx.y];
  if (!dtable) return;
  places += int64_t{blockIdx.y} * tokens;
  const Place first = places[blockIdx.x];
  const int length = run_length(first);
  if (length == 0) return;
  const bool only = first.count < 2 * kRun;
  float* to = only ? dtable + int64_t{first.id} * width
                   : gradients.partials +
                         (int64_t{blockIdx.y} * gradients.slots + run_slot(blockIdx.x)) * width;
  for (int at = static_cast<int>(threadIdx.x) * kChunk; at < width;
       at += static_cast<int>(blockDim.x) * kChunk) {
    Chunk sum = {};
#pragma unroll 4
    for (int i = 0; i < length; ++i) {
      const int64_t token = places[blockIdx.x + i].token;
      const Chunk c = load_columns<kAligned>(dsum + token * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += c.value[j];
    }
    if (only) {
      const Chunk before = load_columns<kAligned>(to, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += before.value[j];
    }
    store_columns<kAligned>(to, at, width, sum);
  }
}

/// A block a place; those where a row of several runs starts add its runs up.
template <bool kAligned>
__global__ void add_runs_kernel(int tokens, int width, const Place* places, Gradients gradients) {
  float* dtable = gradients.dtable[blockIdx.y];
  if (!dtable) return;
  const Place first = places[int64_t{blockIdx.y} * tokens + blockIdx.x];
  if (first.index != 0 || first.count < 2 * kRun) return;
  float* to = dtable + int64_t{first.id} * width;
  for (int at = static_cast<int>(threadIdx.x) * kChunk; at < width;
       at += static_cast<int>(blockDim.x) * kChunk) {
    Chunk sum = {};
#pragma unroll 4
    for (int run = 0; run < first.count / kRun; ++run) {
      const int64_t slot = run_slot(blockIdx.x + int64_t{run} * kRun);
      const float* from =
          gradients.partials + (int64_t{blockIdx.y} * gradients.slots + slot) * width;
      const Chunk c = load_columns<kAligned>(from, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += c.value[j];
    }
    const Chunk before = load_columns<kAligned>(to, at, width);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum.value[j] += before.value[j];
    store_columns<kAligned>(to, at, width, sum);
  }
}

size_t places_bytes(int64_t tokens) {
  const size_t bytes = static_cast<size_t>(kTables * tokens) * sizeof(Place);
  return (bytes + 255) / 256 * 256;
}
int64_t slot_count(int64_t tokens) { return ceil_div(tokens, kRun) + 1; }

}  // namespace

size_t embedding_backward_workspace(int64_t tokens, int64_t width) {
  return places_bytes(tokens) +
         static_cast<size_t>(kTables * slot_count(tokens) * width) * sizeof(float);
}

Status embedding_backward(const EmbeddingBackward& args, void* workspace, Stream stream) {
  if (args.tokens == 0 || args.width == 0) return nullptr;
  if (args.tokens > (int64_t{1} << 24)) return "too many tokens for an embedding's gradient";
  Ids ids = {};
  Gradients gradients = {};
  int tables = 0;
  bool aligned = args.width % kChunk == 0 && aligned16(args.dsum);
  for (const EmbeddingGradient& table : args.tables) {
    if (!table.dtable) continue;
    ids.ids[tables] = table.ids;
    gradients.dtable[tables++] = table.dtable;
    aligned = aligned && aligned16(table.dtable);
  }
  if (tables == 0) return nullptr;
  auto* places = static_cast<Place*>(workspace);
  gradients.partials =
      reinterpret_cast<float*>(static_cast<char*>(workspace) + places_bytes(args.tokens));
  gradients.slots = slot_count(args.tokens);
  const int tokens = static_cast<int>(args.tokens), width = static_cast<int>(args.width);
  const dim3 rank_grid(static_cast<unsigned>(ceil_div(tokens, kRankThreads)),
                       static_cast<unsigned>(tables));
  rank_kernel<<<rank_grid, kRankThreads, 0, stream_of(stream)>>>(ids, tokens, places);
  if (const Status status = launched()) return status;
  const dim3 grid(static_cast<unsigned>(tokens), static_cast<unsigned>(tables));
  const int threads = static_cast<int>(ceil_div(width, kChunk * 32) * 32);
  const int block = threads < 256 ? threads : 256;
  const Status status = by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel = aligned ? sum_runs_kernel<T, true> : sum_runs_kernel<T, false>;
    kernel<<<grid, block, 0, stream_of(stream)>>>(static_cast<const T*>(args.dsum), tokens, width,
                                                  places, gradients);
    return launched();
  });
  if (status) return status;
  const auto kernel = aligned ? add_runs_kernel<true> : add_runs_kernel<false>;
  kernel<<<grid, block, 0, stream_of(stream)>>>(tokens, width, places, gradients);
  return launched();
}

}  // namespace hone::kernels::cuda
