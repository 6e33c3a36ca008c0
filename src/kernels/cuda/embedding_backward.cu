#include "kernels/cuda/common.cuh"
#include "kernels/cuda/embedding.h"

// Tokens are put in the order of their ids by counting, for each token, the tokens that come before
// it: tokens^2 comparisons, but one launch. A row's tokens are then summed in runs; rows of more
// than one run are added up from scratch memory.

namespace hone::kernels::cuda {
namespace {

constexpr int kRankThreads = 256;
constexpr int kRun = 32;  ///< tokens; the last run of a row takes up to 2 * kRun - 1
constexpr int kTables = 3;

/// One token at its place in the order.
struct Place {
  int32_t token;
  int32_t id;
  int32_t index;  ///< place among the tokens of its id
  int32_t count;  ///< number of tokens of its id
};

struct Ids {
  const int32_t* ids[kTables];
};

/// Threads that share a token, each with its part of every tile of tokens.
constexpr int kShare = 4;

/// Ranks the tokens, and clears the rows' starts of the slots.
__global__ void __launch_bounds__(kRankThreads)
    rank_kernel(Ids tables, int tokens, Place* places, int32_t* starts, int64_t slots) {
  __shared__ __align__(16) int32_t others[kRankThreads];
  const int32_t* ids = tables.ids[blockIdx.y];
  const int thread = static_cast<int>(threadIdx.x);
  const int token = static_cast<int>(blockIdx.x) * (kRankThreads / kShare) + thread / kShare;
  const int64_t slot = int64_t{blockIdx.x} * kRankThreads + thread;
  if (slot < slots) starts[int64_t{blockIdx.y} * slots + slot] = -1;
  if (!ids) {  // one row has all tokens
    if (token < tokens && thread % kShare == 0) {
      places[int64_t{blockIdx.y} * tokens + token] = {token, 0, token, tokens};
    }
    return;
  }
  const int32_t id = token < tokens ? ids[token] : 0;
  int smaller = 0, equal = 0, before = 0;
  for (int base = 0; base < tokens; base += kRankThreads) {
    __syncthreads();
    others[thread] = base + thread < tokens ? ids[base + thread] : INT32_MAX;
    __syncthreads();
    const bool all_before = base + kRankThreads <= token;
    const int count_before = equal;
#pragma unroll 8
    for (int i = 0; i < kRankThreads / kShare; i += 4) {
      // Neighbours in a group read neighbouring vectors.
      const int at = i * kShare + thread % kShare * 4;
      const int4 other = *reinterpret_cast<const int4*>(others + at);
      smaller += (other.x < id) + (other.y < id) + (other.z < id) + (other.w < id);
      equal += (other.x == id) + (other.y == id) + (other.z == id) + (other.w == id);
      if (!all_before && base + at < token) {
        before += (other.x == id) + (other.y == id && base + at + 1 < token) +
                  (other.z == id && base + at + 2 < token) +
                  (other.w == id && base + at + 3 < token);
      }
    }
    if (all_before) before += equal - count_before;
  }
#pragma unroll
  for (int offset = 1; offset < kShare; offset *= 2) {
    smaller += __shfl_xor_sync(0xffffffffu, smaller, offset);
    equal += __shfl_xor_sync(0xffffffffu, equal, offset);
    before += __shfl_xor_sync(0xffffffffu, before, offset);
  }
  if (token < tokens && thread % kShare == 0) {
    places[int64_t{blockIdx.y} * tokens + smaller + before] = {token, id, before, equal};
  }
}

/// Gives how many tokens the run takes that starts at this place; 0 where none does.
__device__ __forceinline__ int run_length(const Place& place) {
  const int runs = place.count / kRun > 1 ? place.count / kRun : 1;
  if (place.index % kRun != 0 || place.index / kRun >= runs) return 0;
  return place.index / kRun == runs - 1 ? place.count - place.index : kRun;
}
/// Gives a run's slot. Runs of rows with more than one are kRun places apart or more, so this is
/// theirs alone.
__device__ __forceinline__ int64_t run_slot(int64_t place) { return place / kRun; }

constexpr int32_t kFresh = 1 << 30;  ///< beside a place: the row was not marked yet

struct Gradients {
  float* dtable[kTables];
  uint8_t* touched[kTables];
  float* partials;  ///< [kTables][slots][width]
  /// [kTables][slots]: the place where a row of several runs starts, with kFresh; or -1.
  int32_t* starts;
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
  bool fresh = false;
  if (first.index == 0 && gradients.touched[blockIdx.y]) {
    uint8_t* touched = gradients.touched[blockIdx.y] + first.id;  // no other block has this byte
    fresh = *touched == 0;
    __syncthreads();
    if (threadIdx.x == 0) *touched = 1;
  }
  if (threadIdx.x == 0 && first.index == 0 && !only) {
    gradients.starts[int64_t{blockIdx.y} * gradients.slots + run_slot(blockIdx.x)] =
        static_cast<int32_t>(blockIdx.x) | (fresh ? kFresh : 0);
  }
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
    if (only && !fresh) {
      const Chunk before = load_columns<kAligned>(to, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += before.value[j];
    }
    store_columns<kAligned>(to, at, width, sum);
  }
}

constexpr int kAddWarps = 8;

/// A block has a slot and 256 columns; those where a row of several runs starts add its runs up, a
/// warp every eighth of them.
template <bool kAligned>
__global__ void __launch_bounds__(32 * kAddWarps)
    add_runs_kernel(int tokens, int width, const Place* places, Gradients gradients) {
  __shared__ float shared[kAddWarps][32 * kChunk];
  const int32_t start = gradients.starts[int64_t{blockIdx.y} * gradients.slots + blockIdx.x];
  if (start < 0) return;
  const Place first = places[int64_t{blockIdx.y} * tokens + (start & ~kFresh)];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int at = static_cast<int>(blockIdx.z) * 32 * kChunk + lane * kChunk;
  const float* partials =
      gradients.partials + (int64_t{blockIdx.y} * gradients.slots + blockIdx.x) * width;
  Chunk sum = {};
  if (at < width) {
#pragma unroll 4
    for (int run = warp; run < first.count / kRun; run += kAddWarps) {
      const Chunk c = load_columns<kAligned>(partials + int64_t{run} * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += c.value[j];
    }
  }
#pragma unroll
  for (int j = 0; j < kChunk; ++j) shared[warp][j * 32 + lane] = sum.value[j];
  __syncthreads();
  // Thread (lane, warp) takes element `warp` of lane's chunk.
  if (at + warp >= width) return;
  float total = 0.0f;
#pragma unroll
  for (int i = 0; i < kAddWarps; ++i) total += shared[i][warp * 32 + lane];
  float* to = gradients.dtable[blockIdx.y] + int64_t{first.id} * width + at + warp;
  *to = start & kFresh ? total : *to + total;
}

size_t places_bytes(int64_t tokens) {
  const size_t bytes = static_cast<size_t>(kTables * tokens) * sizeof(Place);
  return (bytes + 255) / 256 * 256;
}
int64_t slot_count(int64_t tokens) { return ceil_div(tokens, kRun) + 1; }

}  // namespace

size_t embedding_backward_workspace(int64_t tokens, int64_t width) {
  const auto slots = static_cast<size_t>(kTables * slot_count(tokens));
  return places_bytes(tokens) + slots * static_cast<size_t>(width) * sizeof(float) +
         slots * sizeof(int32_t);
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
    gradients.touched[tables] = table.touched;
    gradients.dtable[tables++] = table.dtable;
    aligned = aligned && aligned16(table.dtable);
  }
  if (tables == 0) return nullptr;
  auto* places = static_cast<Place*>(workspace);
  gradients.partials =
      reinterpret_cast<float*>(static_cast<char*>(workspace) + places_bytes(args.tokens));
  gradients.slots = slot_count(args.tokens);
  gradients.starts =
      reinterpret_cast<int32_t*>(gradients.partials + kTables * gradients.slots * args.width);
  const int tokens = static_cast<int>(args.tokens), width = static_cast<int>(args.width);
  const dim3 rank_grid(static_cast<unsigned>(ceil_div(tokens, kRankThreads / kShare)),
                       static_cast<unsigned>(tables));
  rank_kernel<<<rank_grid, kRankThreads, 0, stream_of(stream)>>>(ids, tokens, places,
                                                                 gradients.starts, gradients.slots);
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
  const dim3 add_grid(static_cast<unsigned>(gradients.slots), static_cast<unsigned>(tables),
                      static_cast<unsigned>(ceil_div(width, 32 * kChunk)));
  const auto kernel = aligned ? add_runs_kernel<true> : add_runs_kernel<false>;
  kernel<<<add_grid, dim3(32, kAddWarps), 0, stream_of(stream)>>>(tokens, width, places, gradients);
  return launched();
}

}  // namespace hone::kernels::cuda
