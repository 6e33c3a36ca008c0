#pragma once

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/wgmma.cuh"

/// A persistent product of 16-bit matrices. One warp copies tiles of both operands into a ring in
/// shared memory; two groups of four warps take turns: while one multiplies its tile, the other
/// brings its last one through the GELU to memory. Tiles are 128 x 128: both sums of products and
/// results fit beside five stages of operands. What limits it: fp32 instructions and the tensor
/// cores' sums contend for the registers' ports, so that each slows the other. A cluster of two
/// that shares the weight's tile, and tiles of 192 columns, were no faster.
namespace hone::kernels::cuda {

struct GeluMaps {
  CUtensorMap a, b;
  CUtensorMap z;    ///< written by the forward pass, read by the backward pass
  CUtensorMap out;  ///< y or dz
  CUtensorMap y;    ///< written by the backward pass
};

struct GeluSizes {
  int rows = 0, columns = 0, depth = 0;
  const float* bias = nullptr;
  bool z = false;             ///< the forward pass writes it
  float* partials = nullptr;  ///< [ceil(rows / 128)][4][columns]
};

constexpr int kTileRows = 128, kTileColumns = 128;
constexpr int kTileDepth = 64;  ///< 128 bytes, the swizzle's row
constexpr int kGeluThreads = 384;
constexpr int kChunkBytes = 16 * 128;  ///< 16 rows of a warp, 64 columns, swizzled
constexpr int kChunks = 4;             ///< chunks of a warp in a tile

/// Places in shared memory from a multiple of 1024 on.
struct GeluMemory {
  static constexpr int kStages = 5;
  static constexpr int kA = kTileRows * 128;
  static constexpr int kStage = kA + kTileColumns * 128;
  static constexpr int kResults = kStages * kStage;  ///< a tile of each group, by warp and chunk
  static constexpr int kFull = kResults + 8 * kChunks * kChunkBytes;
  static constexpr int kEmpty = kFull + kStages * 8;
  static constexpr int kLoaded = kEmpty + kStages * 8;  ///< z's chunks, by warp
  static constexpr int kBytes = kLoaded + 8 * 8 + 1024;
  static_assert(kBytes <= 227 * 1024);
};

/// The tiles in the order in which they are taken: along rows first, so that the weight and a few
/// rows of tiles are in the caches.
struct TileWalk {
  int across, total, at, step;

  __device__ __forceinline__ explicit TileWalk(const GeluSizes& s)
      : across((s.columns + kTileColumns - 1) / kTileColumns),
        total((s.rows + kTileRows - 1) / kTileRows * across),
        at(static_cast<int>(blockIdx.x)),
        step(static_cast<int>(gridDim.x)) {}
  __device__ __forceinline__ int row() const { return at / across * kTileRows; }
  __device__ __forceinline__ int column() const { return at % across * kTileColumns; }
};

/// A place in the ring of stages.
template <int kStages>
struct RingPlace {
  int stage;
  uint32_t parity;

  __device__ __forceinline__ explicit RingPlace(int count)
      : stage(count % kStages), parity(static_cast<uint32_t>(count / kStages) & 1) {}
  __device__ __forceinline__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// Does the copying thread's part.
template <bool kBackward>
__device__ __forceinline__ void copy_tiles(const GeluMaps& maps, const GeluSizes& sizes,
                                           uint32_t memory) {
  using Memory = GeluMemory;
  RingPlace<Memory::kStages> place(0);
  for (TileWalk tile(sizes); tile.at < tile.total; tile.at += tile.step) {
    const int row = tile.row(), column = tile.column();
    for (int depth = 0; depth < sizes.depth; depth += kTileDepth, place.next()) {
      const uint32_t full = memory + Memory::kFull + place.stage * 8;
      const uint32_t a = memory + place.stage * Memory::kStage, b = a + Memory::kA;
      barrier_wait(memory + Memory::kEmpty + place.stage * 8, place.parity ^ 1);
      barrier_expect(full, Memory::kStage);
      load_box(a, maps.a, depth, row, full);
      if constexpr (kBackward) {
        load_box(b, maps.b, column, depth, full);
        load_box(b + kTileDepth * 128, maps.b, column + 64, depth, full);
      } else {
        load_box(b, maps.b, depth, column, full);
      }
    }
  }
}

/// A thread's share of the tile's two halves of 64 rows.
using TileSums = float[2][kTileColumns / 2];

/// Computes sums += a tile of a * a tile of b over the whole depth, from the count-th stage of the
/// ring on; kBackward: rows of b lie along the depth, kFirstToo: those of a as well. issued() is
/// called when all products are on their way.
template <typename T, bool kBackward, bool kFirstToo = false, typename Issued>
__device__ __forceinline__ void multiply_tile(TileSums& sums, int depth, uint32_t memory, int count,
                                              const Issued& issued) {
  using Memory = GeluMemory;
  constexpr uint64_t kAStep = kFirstToo ? kTransposedDepthStep : kDepthStep;
  constexpr uint64_t kBStep = kBackward ? kTransposedDepthStep : kDepthStep;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const auto release = [&](int stage) {
    if (lane == 0) barrier_arrive(memory + Memory::kEmpty + stage * 8);
  };
  RingPlace<Memory::kStages> place(count);
  int previous = -1;
  for (int at = 0; at < depth; at += kTileDepth, place.next()) {
    const uint32_t stage = memory + place.stage * Memory::kStage;
    const uint64_t a = kFirstToo ? column_tile(stage) : row_tile(stage);
    const uint64_t b = kBackward ? column_tile(stage + Memory::kA) : row_tile(stage + Memory::kA);
    barrier_wait(memory + Memory::kFull + place.stage * 8, place.parity);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kTileDepth / 16; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        wgmma<T, kBackward, kFirstToo>(sums[half], a + half * (64 * 128 >> 4) + k * kAStep,
                                       b + k * kBStep);
      }
    }
    wgmma_commit();
    wgmma_wait<1>();
    if (previous >= 0) release(previous);
    previous = place.stage;
  }
  issued();
  wgmma_wait<0>();
  release(previous);
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // nothing reads a sum before this
#pragma unroll
    for (int i = 0; i < kTileColumns / 2; ++i) asm volatile("" : "+f"(sums[half][i])::"memory");
  }
}

/// A warp's results lie in four chunks: chunk 2 c + h has its 16 of the 64 rows of half h and
/// columns 64 c to 64 c + 63. Gives this lane's row of the 8 x 8 matrices that hold 16 columns from
/// 16 part on.
__device__ __forceinline__ uint32_t matrix_place(uint32_t chunks, int chunk, int part) {
  const uint32_t lane = threadIdx.x % 32, row = lane % 16;
  return chunks + chunk * kChunkBytes + row * 128 + (((2 * part + lane / 16) ^ (row & 7)) << 4);
}

/// Stores half c of a warp's columns from its chunks to a matrix, by one thread; row is that of the
/// warp's first, column that of the tile's. These are two boxes.
__device__ __forceinline__ void store_chunks(uint32_t chunks, int c, const CUtensorMap& map,
                                             int row, int column) {
  for (int half = 0; half < 2; ++half) {
    store_box(map, chunks + (2 * c + half) * kChunkBytes, column + 64 * c, row + 64 * half);
  }
}

/// Rounds half c of the sums to its chunks and stores them to a matrix.
template <typename T>
__device__ __forceinline__ void store_half(const TileSums& sums, int c, uint32_t chunks,
                                           const CUtensorMap& map, int row, int column) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float* p = sums[i / 4] + 32 * c + 8 * (i % 4);
    store_matrices(matrix_place(chunks, 2 * c + i / 4, i % 4), pack_pair<T>(p[0], p[1]),
                   pack_pair<T>(p[2], p[3]), pack_pair<T>(p[4], p[5]), pack_pair<T>(p[6], p[7]));
  }
  shared_written();
  __syncwarp();
  if (threadIdx.x % 32 == 0) store_chunks(chunks, c, map, row, column);
}

/// Rounds all sums to the warp's chunks and stores them to a matrix; row is that of the warp's
/// first. What was stored from there before must have been read.
template <typename T>
__device__ __forceinline__ void store_tile(const TileSums& sums, uint32_t chunks,
                                           const CUtensorMap& map, int row, int column) {
  if (threadIdx.x % 32 == 0) wait_stored<0>();
  __syncwarp();
#pragma unroll
  for (int c = 0; c < 2; ++c) store_half<T>(sums, c, chunks, map, row, column);
}

/// Computes the product of End::Type. Each thread of the multiplying groups makes an End: begin()
/// sets the sums of a tile, turn() is called when its product starts, finish() takes the sums. The
/// turns are not for speed alone: a wait for a stage by its phase's parity must not come two phases
/// early.
template <typename End>
__global__ void __launch_bounds__(kGeluThreads, 1)
    linear_gelu_kernel(const __grid_constant__ GeluMaps maps, const GeluSizes sizes) {
  constexpr int kTurn = 1;  // named barriers: whose turn it is to multiply
  using Memory = GeluMemory;
  extern __shared__ uint8_t dynamic[];
  const uint32_t memory = (shared_address(dynamic) + 1023) & ~1023u;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Memory::kStages; ++i) {
      barrier_init(memory + Memory::kFull + i * 8, 1);
      barrier_init(memory + Memory::kEmpty + i * 8, 4);  // a group's warps
    }
    for (int i = 0; i < 8; ++i) barrier_init(memory + Memory::kLoaded + i * 8, 1);
    barrier_init_done();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    give_registers<40>();
    if (threadIdx.x == 0) copy_tiles<End::kBackward>(maps, sizes, memory);
  } else {
    take_registers<232>();
    const int group = threadIdx.x < 256 ? 0 : 1;
    const int stages = (sizes.depth + kTileDepth - 1) / kTileDepth;
    if (group == 1) named_arrive(kTurn, 256);
    End end(maps, sizes, memory);
    int count = 0, turn = 0;
    for (TileWalk tile(sizes); tile.at < tile.total;
         tile.at += tile.step, count += stages, turn ^= 1) {
      if (turn != group) continue;
      const int row = tile.row(), column = tile.column();
      TileSums sums;
      end.begin(sums, row, column);
      named_sync(kTurn + group, 256);
      end.turn(row, column);
      multiply_tile<typename End::Type, End::kBackward>(sums, sizes.depth, memory, count, [&] {
        if (tile.at + tile.step < tile.total) named_arrive(kTurn + (group ^ 1), 256);
      });
      end.finish(sums, row, column);
    }
    wait_stored<0>();
  }
}

/// Describes a matrix of 16-bit elements to the copy engine: boxes of 64 elements and box_rows
/// rows.
Status describe_boxes(CUtensorMap* map, DType dtype, const void* data, int64_t rows,
                      int64_t columns, int64_t stride, int box_rows);
/// Says whether the current device has what the kernel is made of, and the matrices whole 16 bytes
/// a row.
bool gelu_product_fits(DType dtype, int64_t m, int64_t n, int64_t k, int64_t stride);

template <typename End>
Status launch_linear_gelu(const GeluMaps& maps, const GeluSizes& sizes, Stream stream) {
  constexpr int kBytes = GeluMemory::kBytes;
  const auto kernel = linear_gelu_kernel<End>;
  int device = 0, multiprocessors = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const int64_t tiles = ceil_div(sizes.rows, kTileRows) * ceil_div(sizes.columns, kTileColumns);
  const auto blocks = static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors);
  kernel<<<blocks, kGeluThreads, kBytes, stream_of(stream)>>>(maps, sizes);
  return launched();
}

}  // namespace hone::kernels::cuda
