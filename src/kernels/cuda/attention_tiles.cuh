#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tensor_core.cuh"

/// Pieces of the tensor-core attention kernels: what a warp does with 16 rows of its own and a tile
/// of shared ones. `Products` is WarpProducts or GroupProducts.
namespace hone::kernels::cuda {

constexpr int kTile = 64;   ///< rows of the shared side at a time
constexpr int kStages = 3;  ///< tiles in shared memory
__device__ __forceinline__ int next_stage(int stage) {
  return stage + 1 == kStages ? 0 : stage + 1;
}

__device__ __forceinline__ int lane_row() { return static_cast<int>(threadIdx.x % 32) / 4; }
__device__ __forceinline__ int lane_column() { return static_cast<int>(threadIdx.x % 4) * 2; }

/// Brings two arrays' rows of one head through shared memory, kTile rows of each at a time: while a
/// tile is worked on, two more are on their way. All threads of the block fetch.
template <typename T, int kDepth, int kThreads>
class TileRing {
 public:
  using Rows = Tile<kTile, kDepth>;
  static constexpr int kStageBytes = 2 * Rows::kBytes;

  /// Starts with `rows` of each array, to `base` in shared memory, which is aligned to 1024 bytes.
  __device__ __forceinline__ TileRing(uint32_t base, const T* first, int64_t first_stride,
                                      const T* second, int64_t second_stride, int rows)
      : first_stride_(first_stride), second_stride_(second_stride), left_(rows), to_(base) {
    const int row = static_cast<int>(threadIdx.x) / Rows::kPieces;
    const int piece = static_cast<int>(threadIdx.x) % Rows::kPieces;
    first_ = first + row * first_stride + piece * 8;
    second_ = second + row * second_stride + piece * 8;
    row_ = row;
    offset_ = Rows::offset(row, piece);
  }

  /// Fetches the next tile, if there is one.
  __device__ __forceinline__ void fetch() {
    if (left_ <= 0) return;
#pragma unroll
    for (int i = 0; i < kTile; i += kPass) {
      if (kTile % kPass != 0 && row_ + i >= kTile) break;
      const bool exists = row_ + i < left_;
      const uint32_t to = to_ + offset_ + static_cast<uint32_t>(i * Rows::kRowBytes);
      copy_async(to, first_ + i * first_stride_, exists);
      copy_async(to + Rows::kBytes, second_ + i * second_stride_, exists);
    }
    first_ += kTile * first_stride_;
    second_ += kTile * second_stride_;
    left_ -= kTile;
    stage_ = next_stage(stage_);
    to_ = stage_ == 0 ? to_ - (kStages - 1) * kStageBytes : to_ + kStageBytes;
  }
  /// Gives the stage that fetch() writes to next.
  __device__ __forceinline__ int stage() const { return stage_; }

 private:
  static constexpr int kPass = kThreads / Rows::kPieces;  ///< rows that all threads fetch at once
  static_assert(kThreads % Rows::kPieces == 0 && kPass % 8 == 0);

  const T *first_, *second_;  ///< the thread's pieces of the next tile
  int64_t first_stride_, second_stride_;
  int left_;
  uint32_t to_;
  int stage_ = 0;
  int row_;
  uint32_t offset_;
};

/// Waits until a tile has arrived for the whole block, and no warp needs the one before it any
/// more.
template <bool kAsync>
__device__ __forceinline__ void wait_tile() {
  wait_copies<1>();
  // Copies are ordinary writes; the tensor cores of a warpgroup read past those.
  if constexpr (kAsync) asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();
}

/// Gives shared memory from the first place that a tile may have.
__device__ __forceinline__ uint32_t tile_base(const void* shared) {
  return (shared_address(shared) + 1023u) & ~1023u;
}

/// Copies the top bits of a word's bytes: nibble i of the selector, 8 + a byte, fills byte i.
template <uint32_t kSelector>
__device__ __forceinline__ uint32_t spread_top_bits(uint32_t word) {
  uint32_t result;
  asm("prmt.b32 %0, %1, 0, %2;\n" : "=r"(result) : "r"(word), "n"(kSelector));
  return result;
}
__device__ __forceinline__ float masked(float value, uint32_t mask) {
  return __uint_as_float(__float_as_uint(value) & mask);
}

/// Holds what is kept of 32 keys (columns) of a row, for this thread: the bit of column 8 j + 2 t +
/// e at the top of byte 2 (j % 2) + e of top[j / 2].
struct KeptColumns {
  uint32_t top[2];

  KeptColumns() = default;
  __device__ __forceinline__ explicit KeptColumns(uint32_t word) {
    top[1] = word << (6 - lane_column());
    top[0] = top[1] << 1;
  }
  /// Drops from columns 8 j + 2 t and the next, rounded.
  __device__ __forceinline__ uint32_t drop_pair(int j, uint32_t pair) const {
    return pair &
           (j % 2 ? spread_top_bits<0xBBAA>(top[j / 2]) : spread_top_bits<0x9988>(top[j / 2]));
  }
  __device__ __forceinline__ void drop(int j, float& first, float& second) const {
    if (j % 2 == 0) {
      first = masked(first, spread_top_bits<0x8888>(top[j / 2]));
      second = masked(second, spread_top_bits<0x9999>(top[j / 2]));
    } else {
      first = masked(first, spread_top_bits<0xAAAA>(top[j / 2]));
      second = masked(second, spread_top_bits<0xBBBB>(top[j / 2]));
    }
  }
};

/// Sets the scores of keys that are not there to -inf.
template <int kColumns>
__device__ __forceinline__ void mask_keys(float (&s)[kColumns][4], int there) {
#pragma unroll
  for (int j = 0; j < 4 * kColumns; ++j) {
    if (8 * (j / 4) + lane_column() + j % 2 >= there) s[j / 4][j % 4] = -INFINITY;
  }
}

}  // namespace hone::kernels::cuda
