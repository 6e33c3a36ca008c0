#pragma once

#include <arm_neon.h>

#include "kernels/cpu/gemm_kernel.h"

/// The micro-kernel of ARM's products of small matrices: two rows by two columns, over eight bytes
/// of k, which are bytes (I8MM) or bf16. The panel has groups of four bytes a column, as for all
/// others, so that one packed file serves every ARM: two groups of two columns are brought together
/// as they are read, and so are two rows of A.
///
/// Square: its Sum is a register of four sums, row by row; load(from), store(to, sum), zero(), and
/// add(sum, rows, columns) = sum + rows * columns. It is local to the source that includes this,
/// and so are then these functions: they are compiled for its instruction set.
namespace hone::kernels::squares {

constexpr int kTileRows = 8;
constexpr int64_t kPanel = 8;
constexpr int64_t kSquares = kPanel / 2;
constexpr int64_t kColumns = kPanel * 4;  // bytes of a group of all columns
constexpr int64_t kSumsRow = kPanel * 4;  // bytes of a row of sums
constexpr int64_t kStep = 16;             // bytes of k

/// Gives the low and the high eight bytes of two rows, each as a matrix.
template <class Square>
struct RowPair {
  using Bytes = typename Square::Bytes;
  Bytes half[2];

  RowPair(const char* first, const char* second) {
    const uint64x2_t x = vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(first)));
    const uint64x2_t y = vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(second)));
    half[0] = Square::bytes(vreinterpretq_u8_u64(vzip1q_u64(x, y)));
    half[1] = Square::bytes(vreinterpretq_u8_u64(vzip2q_u64(x, y)));
  }
};

/// Gives eight bytes of k of all columns, as matrices of two columns each.
template <class Square>
struct ColumnPairs {
  typename Square::Bytes pair[kSquares];

  explicit ColumnPairs(const char* b) {
    const auto load = [](const char* from) {
      return vreinterpretq_u32_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(from)));
    };
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const uint32x4_t first = load(b + v * 16), second = load(b + kColumns + v * 16);
      pair[2 * v] = Square::bytes(vreinterpretq_u8_u32(vzip1q_u32(first, second)));
      pair[2 * v + 1] = Square::bytes(vreinterpretq_u8_u32(vzip2q_u32(first, second)));
    }
  }
};

/// Sums of two rows of squares lie as two rows in memory.
template <class Square>
typename Square::Sum load_square(const char* row, const char* next) {
  return Square::sum(vcombine_u8(vld1_u8(reinterpret_cast<const uint8_t*>(row)),
                                 vld1_u8(reinterpret_cast<const uint8_t*>(next))));
}
template <class Square>
void store_square(typename Square::Sum sum, char* row, char* next) {
  const uint8x16_t bits = Square::bits(sum);
  vst1_u8(reinterpret_cast<uint8_t*>(row), vget_low_u8(bits));
  if (next != row) vst1_u8(reinterpret_cast<uint8_t*>(next), vget_high_u8(bits));
}

/// Multiplies; a last row without a partner is its own, and its second sums are not written.
template <class Square, int rows>
void multiply_rows(const char* a, int64_t stride, const char* b, int64_t bytes, bool add,
                   char* out) {
  constexpr int kPairs = (rows + 1) / 2;
  constexpr auto kSecond = [](int pair) { return 2 * pair + 1 < rows ? 2 * pair + 1 : 2 * pair; };
  typename Square::Sum sums[kPairs][kSquares];
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int s = 0; s < kSquares; ++s) {
      const char* from = out + s * 8;
      sums[p][s] = add ? load_square<Square>(from + 2 * p * kSumsRow, from + kSecond(p) * kSumsRow)
                       : Square::zero();
    }
  }
  for (int64_t i = 0; i < bytes; i += kStep, a += kStep, b += 4 * kColumns) {
    const ColumnPairs<Square> low(b), high(b + 2 * kColumns);
#pragma GCC unroll 4
    for (int p = 0; p < kPairs; ++p) {
      const RowPair<Square> x(a + 2 * p * stride, a + kSecond(p) * stride);
#pragma GCC unroll 4
      for (int s = 0; s < kSquares; ++s) {
        sums[p][s] = Square::add(sums[p][s], x.half[0], low.pair[s]);
      }
#pragma GCC unroll 4
      for (int s = 0; s < kSquares; ++s) {
        sums[p][s] = Square::add(sums[p][s], x.half[1], high.pair[s]);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPairs; ++p) {
#pragma GCC unroll 4
    for (int s = 0; s < kSquares; ++s) {
      char* to = out + s * 8;
      store_square<Square>(sums[p][s], to + 2 * p * kSumsRow, to + kSecond(p) * kSumsRow);
    }
  }
}

template <class Square, typename Element, int rows = kTileRows>
void multiply(int64_t wanted, const void* a, int64_t lda, const void* b, int64_t k, bool add,
              void* sums, GemmFetch fetch) {
  constexpr int64_t kSize = sizeof(Element);
  if (wanted == rows) {
    multiply_rows<Square, rows>(static_cast<const char*>(a), lda * kSize,
                                static_cast<const char*>(b), k * kSize, add,
                                static_cast<char*>(sums));
  } else if constexpr (rows > 1) {
    multiply<Square, Element, rows - 1>(wanted, a, lda, b, k, add, sums, fetch);
  }
}

template <typename Element>
void copy_row(const void* from, int64_t k, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(k) * sizeof(Element));
}

/// Gives the kernel, whose k goes in units of `depth`.
template <class Square, typename Element>
constexpr GemmKernel kernel(int64_t depth) {
  return {
      .tile_rows = kTileRows,
      .row_unit = 1,
      .k_unit = depth,
      .whole = 400 << 10,
      .slice = 3072 / static_cast<int64_t>(sizeof(Element)),
      .fetches_next = false,
      .fetches_ahead = false,
      .k_step = kStep / static_cast<int64_t>(sizeof(Element)),
      .a_size = sizeof(Element),
      .copy_row = &copy_row<Element>,
      .multiply = &multiply<Square, Element>,
      .begin = nullptr,
      .end = nullptr,
  };
}

}  // namespace hone::kernels::squares
