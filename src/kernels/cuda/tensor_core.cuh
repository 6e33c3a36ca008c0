#pragma once

#include "kernels/cuda/common.cuh"

/// Tensor-core products of 16-bit tiles in shared memory, by mma.sync m16n8k16: a warp multiplies
/// 16 rows that it holds in registers with tiles of rows that the block shares.
///
/// In a tile of the shared side, rows are taken in an order that gives a thread four neighbours of
/// every 16: with t = lane % 4, it holds rows 16 a + 4 t + {0, 1} in one accumulator of a pair and
/// {2, 3} in the other. A dropout's counter covers four such neighbours. Both products of attention
/// use the same order, so it cancels out.
namespace hone::kernels::cuda {

/// c += a * b, fp32 sums.
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

/// 16 bytes to shared memory behind the thread's back; zeros where `there` is false.
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, bool there) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;\n"); }
/// All but the last kPending groups have arrived, for this thread.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending));
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

/// [rows][kDepth] of 16-bit elements in shared memory, 16-byte pieces of a row exchanged so that
/// eight rows at one place lie in different banks.
template <int kDepth>
struct Tile {
  static constexpr int kPieces = kDepth / 8;
  static constexpr int kRowBytes = kDepth * 2;

  static __device__ __forceinline__ uint32_t offset(int row, int piece) {
    const int exchange = kDepth == 32 ? (row >> 1) & 3 : row & 7;
    return static_cast<uint32_t>(row * kRowBytes + ((piece ^ exchange) << 4));
  }

  /// kRows rows from memory; those from `there` on become zeros. All kThreads threads call it.
  template <int kRows, int kThreads, typename T>
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

  /// The shared row that lane `lane` points at for matrix half h of pair `pair`.
  static __device__ __forceinline__ int row_of(int pair, int i, int h) {
    return 16 * pair + 4 * (i >> 1) + 2 * h + (i & 1);
  }
};

/// 16 rows of the private side, kDepth long, as the first operand of mma().
template <int kDepth>
struct Rows {
  uint32_t a[kDepth / 16][4];

  /// From memory; rows from `there` on are zeros.
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

/// c [kPairs][2] = rows * tile^T, of 16 kPairs shared rows from pair `first` on.
///
/// A pair is 16 rows, which keep the exchange of pieces, and a step along the depth is two pieces:
/// so one address serves all, with a constant exchanged in or added.
template <int kDepth, int kPairs, typename T>
__device__ __forceinline__ void multiply_transposed(float (&c)[kPairs][2][4],
                                                    const Rows<kDepth>& rows, uint32_t tile,
                                                    int first) {
  constexpr int kPairBytes = 16 * Tile<kDepth>::kRowBytes;
  const int lane = static_cast<int>(threadIdx.x % 32), i = lane % 8, matrix = lane / 8;
  const int row = Tile<kDepth>::row_of(0, i, matrix / 2);
  const uint32_t at = tile + static_cast<uint32_t>(first * kPairBytes) +
                      Tile<kDepth>::offset(row, matrix % 2);
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
    for (int j = 0; j < 8; ++j) c[pair][j / 4][j % 4] = 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      uint32_t b[4];
      load_matrices(b, (at ^ static_cast<uint32_t>(32 * k)) + pair * kPairBytes);
      mma<T>(c[pair][0], rows.a[k], b[0], b[1]);
      mma<T>(c[pair][1], rows.a[k], b[2], b[3]);
    }
  }
}

/// sum [kDepth / 8] += p * tile, over 16 kPairs shared rows from pair `first` on; p is what
/// multiply_transposed() gave, rounded to T.
template <int kDepth, int kPairs, typename T>
__device__ __forceinline__ void multiply_add(float (&sum)[kDepth / 8][4],
                                             const float (&p)[kPairs][2][4], uint32_t tile,
                                             int first) {
  constexpr int kPairBytes = 16 * Tile<kDepth>::kRowBytes;
  const int lane = static_cast<int>(threadIdx.x % 32), i = lane % 8, matrix = lane / 8;
  const int row = Tile<kDepth>::row_of(0, i, matrix % 2);
  const uint32_t at = tile + static_cast<uint32_t>(first * kPairBytes) +
                      Tile<kDepth>::offset(row, matrix / 2);
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const uint32_t a[4] = {
        pack_pair<T>(p[pair][0][0], p[pair][0][1]), pack_pair<T>(p[pair][0][2], p[pair][0][3]),
        pack_pair<T>(p[pair][1][0], p[pair][1][1]), pack_pair<T>(p[pair][1][2], p[pair][1][3])};
#pragma unroll
    for (int d = 0; d < kDepth / 8; d += 2) {
      uint32_t b[4];
      load_matrices_transposed(b, (at ^ static_cast<uint32_t>(16 * d)) + pair * kPairBytes);
      mma<T>(sum[d], a, b[0], b[1]);
      mma<T>(sum[d + 1], a, b[2], b[3]);
    }
  }
}

/// 16 rows of sums to memory, times `low` (rows 0 to 7) and `high`; rows from `there` on are not
/// written.
template <int kDepth, typename T>
__device__ __forceinline__ void store_rows(const float (&sum)[kDepth / 8][4], float low, float high,
                                           T* to, int64_t stride, int there) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int row = lane / 4, column = lane % 4 * 2;
#pragma unroll
  for (int d = 0; d < kDepth / 8; ++d) {
    if (row < there) {
      *reinterpret_cast<uint32_t*>(to + row * stride + 8 * d + column) =
          pack_pair<T>(sum[d][0] * low, sum[d][1] * low);
    }
    if (row + 8 < there) {
      *reinterpret_cast<uint32_t*>(to + (row + 8) * stride + 8 * d + column) =
          pack_pair<T>(sum[d][2] * high, sum[d][3] * high);
    }
  }
}

}  // namespace hone::kernels::cuda
