#pragma once

#include "kernels/cuda/common.cuh"

/// Tensor-core products of 16-bit tiles in shared memory: a warp multiplies 16 rows that it holds
/// in registers with tiles of rows that the block shares, here by mma.sync m16n8k16, in
/// warpgroup.cuh four warps together by wgmma.
///
/// Sums [columns / 8][4] lie as both instructions leave them: with i = lane / 4 and t = lane % 4, a
/// thread has columns 8 j + 2 t and the next of row i in [j][0] and [j][1], of row i + 8 in [j][2]
/// and [j][3].
namespace hone::kernels::cuda {

/// Computes c += a * b, with fp32 sums.
template <typename T>
__device__ __forceinline__ void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ __forceinline__ void load_matrices_transposed(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

/// Copies 16 bytes to shared memory asynchronously; zeros where `there` is false.
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;\n"); }
/// Waits until all but the last kPending groups have arrived, for this thread.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

/// kRows rows of kDepth 16-bit elements in shared memory, in slabs of at most 64 columns. 16-byte
/// pieces of a slab's row are exchanged so that eight rows at one place lie in different banks, in
/// the way that wgmma knows (swizzles of 64 and 128 bytes; slabs are aligned to 1024 bytes).
template <int kRows, int kDepth>
struct Tile {
  static constexpr int kWidth = kDepth < 64 ? kDepth : 64;
  static constexpr int kPieces = kDepth / 8;
  static constexpr int kSlabPieces = kWidth / 8;
  static constexpr int kRowBytes = kWidth * 2;
  static constexpr int kSlabBytes = kRows * kRowBytes;
  static constexpr int kBytes = kRows * kDepth * 2;

  static __device__ __forceinline__ uint32_t offset(int row, int piece) {
    const int exchange = kWidth == 32 ? (row >> 1) & 3 : row & 7;
    return static_cast<uint32_t>(piece / kSlabPieces * kSlabBytes + row * kRowBytes +
                                 ((piece % kSlabPieces ^ exchange) << 4));
  }

  /// Copies rows from memory; rows from `there` on become zeros. All kThreads threads call it.
  template <int kThreads, typename T>
  static __device__ __forceinline__ void load(uint32_t tile, const T* from, int64_t stride,
                                              int there) {
#pragma unroll
    for (int i = 0; i < kRows * kPieces; i += kThreads) {
      const int at = i + static_cast<int>(threadIdx.x);
      if (kRows * kPieces % kThreads != 0 && at >= kRows * kPieces) break;
      const int row = at / kPieces, piece = at % kPieces;
      const bool exists = row < there;
      copy_async(tile + offset(row, piece), from + (exists ? row * stride : 0) + piece * 8, exists);
    }
  }
};

/// 16 rows of the private side, kDepth long, as the first operand of mma().
template <int kDepth>
struct Rows {
  uint32_t a[kDepth / 16][4];

  /// Loads rows from row `first` on of a tile in shared memory.
  template <class Tile>
  __device__ __forceinline__ void load_shared(uint32_t tile, int first) {
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      load_matrices(a[k], tile + Tile::offset(first + lane % 16, 2 * k + lane / 16));
    }
  }
  /// Loads rows from memory; rows from `there` on are zeros.
  template <typename T>
  __device__ __forceinline__ void load(const T* from, int64_t stride, int there) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int row = lane / 4, column = lane % 4 * 2;
    const bool low = row < there, high = row + 8 < there;
    const T* first = from + row * stride + column;
    const T* second = first + 8 * stride;
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      a[k][0] = low ? *reinterpret_cast<const uint32_t*>(first + 16 * k) : 0u;
      a[k][1] = high ? *reinterpret_cast<const uint32_t*>(second + 16 * k) : 0u;
      a[k][2] = low ? *reinterpret_cast<const uint32_t*>(first + 16 * k + 8) : 0u;
      a[k][3] = high ? *reinterpret_cast<const uint32_t*>(second + 16 * k + 8) : 0u;
    }
  }
};

/// Computes products by single warps. `Tile` is the shared side's, of which `first` is a multiple
/// of 16.
template <typename T>
struct WarpProducts {
  static constexpr int kRows = 16;  ///< rows that are multiplied together
  static constexpr bool kAsync = false;

  static __device__ __forceinline__ void begin() {}
  template <class... Sums>
  static __device__ __forceinline__ void finish(Sums&...) {}

  /// Computes c = rows * tile^T, of 8 * kColumns shared rows from `first` on.
  ///
  /// 16 rows keep the exchange of pieces, and a step along the depth is two pieces: so one address
  /// serves all, with a constant exchanged in or added.
  template <class Tile, int kDepth, int kColumns>
  static __device__ __forceinline__ void transposed(float (&c)[kColumns][4],
                                                    const Rows<kDepth>& rows, uint32_t tile,
                                                    int first) {
    const int lane = static_cast<int>(threadIdx.x % 32), i = lane % 8, matrix = lane / 8;
    const uint32_t at = tile + static_cast<uint32_t>(first * Tile::kRowBytes) +
                        Tile::offset(8 * (matrix / 2) + i, matrix % 2);
#pragma unroll
    for (int j = 0; j < 4 * kColumns; ++j) c[j / 4][j % 4] = 0.0f;
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
      for (int j = 0; j < kColumns; j += 2) {
        uint32_t b[4];
        load_matrices(b, (at ^ static_cast<uint32_t>(32 * (k % 4))) + k / 4 * Tile::kSlabBytes +
                             8 * j * Tile::kRowBytes);
        mma<T>(c[j], rows.a[k], b[0], b[1]);
        mma<T>(c[j + 1], rows.a[k], b[2], b[3]);
      }
    }
  }

  /// Computes sum += p * tile, over 16 * kSteps shared rows from `first` on.
  template <class Tile, int kColumns, int kSteps>
  static __device__ __forceinline__ void add(float (&sum)[kColumns][4],
                                             const uint32_t (&p)[kSteps][4], uint32_t tile,
                                             int first) {
    const int lane = static_cast<int>(threadIdx.x % 32), i = lane % 8, matrix = lane / 8;
    const uint32_t at = tile + static_cast<uint32_t>(first * Tile::kRowBytes) +
                        Tile::offset(8 * (matrix % 2) + i, matrix / 2);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int d = 0; d < kColumns; d += 2) {
        uint32_t b[4];
        load_matrices_transposed(b, (at ^ static_cast<uint32_t>(16 * (d % 8))) +
                                        d / 8 * Tile::kSlabBytes + 16 * step * Tile::kRowBytes);
        mma<T>(sum[d], p[step], b[0], b[1]);
        mma<T>(sum[d + 1], p[step], b[2], b[3]);
      }
    }
  }
};

/// Rounds what a product left, as the first operand of the next.
template <typename T, int kColumns>
__device__ __forceinline__ void pack_rows(const float (&c)[kColumns][4],
                                          uint32_t (&a)[kColumns / 2][4]) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    a[j / 2][j % 2 * 2] = pack_pair<T>(c[j][0], c[j][1]);
    a[j / 2][j % 2 * 2 + 1] = pack_pair<T>(c[j][2], c[j][3]);
  }
}

/// Transposes words among the four threads of a row: word i of thread t becomes word t of thread i.
__device__ __forceinline__ void transpose_words(uint32_t (&w)[4]) {
#pragma unroll
  for (int by = 2; by > 0; by /= 2) {
    const bool upper = (static_cast<int>(threadIdx.x) & by) != 0;
    const int other = 3 - by;  // the pairs are (0, by) and (other, 3)
    const uint32_t first = __shfl_xor_sync(0xffffffffu, upper ? w[0] : w[by], by);
    const uint32_t second = __shfl_xor_sync(0xffffffffu, upper ? w[other] : w[3], by);
    w[0] = upper ? first : w[0];
    w[by] = upper ? w[by] : first;
    w[other] = upper ? second : w[other];
    w[3] = upper ? w[3] : second;
  }
}

/// Writes 16 rows of sums to memory, times `low` (rows 0 to 7) and `high`; rows from `there` on are
/// not written. Rows are aligned to 16 bytes.
template <int kDepth, typename T>
__device__ __forceinline__ void store_rows(const float (&sum)[kDepth / 8][4], float low, float high,
                                           T* to, int64_t stride, int there) {
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane / 4 + 8 * half;
    const float factor = half == 0 ? low : high;
#pragma unroll
    for (int d = 0; d < kDepth / 8; d += 4) {
      uint32_t words[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        words[i] = pack_pair<T>(sum[d + i][2 * half] * factor, sum[d + i][2 * half + 1] * factor);
      }
      transpose_words(words);
      if (row < there) {
        *reinterpret_cast<uint4*>(to + row * stride + 8 * (d + lane % 4)) =
            make_uint4(words[0], words[1], words[2], words[3]);
      }
    }
  }
}

}  // namespace hone::kernels::cuda
