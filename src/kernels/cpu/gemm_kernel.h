#pragma once

#include "kernels/cpu/gemm.h"

/// What gemm.cpp drives: a micro-kernel for one instruction set and dtype. Internal.
namespace hone::kernels {

struct GemmKernel {
  int64_t tile_rows;  ///< most rows of A one call of multiply takes
  int64_t row_unit;   ///< rows of a packed tile are rounded up to this
  int64_t k_unit;     ///< and k to this
  size_t a_size;      ///< bytes of an element of packed A
  /// Packs `rows` rows of A (at most tile_rows) over all of k, filling up with zeros.
  /// Element order is the kernel's own, but k ascends in steps of k_unit: the part that starts at
  /// k0 lies k0 * round_up(rows, row_unit) elements on.
  void (*pack_a)(const void* a, int64_t lda, int64_t rows, int64_t k, void* out);
  /// sums[r * panel_rows + j] = (or +=, where `add`) sum of a(r, i) * b(j, i) over i < k, ascending
  /// in i: splitting k over several calls does not change a bit. k is a multiple of k_unit.
  void (*multiply)(int64_t rows, const void* a, const void* b, int64_t k, bool add, float* sums);
};

/// A tile of sums on its way to C.
struct GemmTile {
  int64_t row, column;    ///< of C
  int64_t rows, columns;  ///< columns may be fewer than the panel has
  const float* sums;      ///< rows of panel_rows(isa)
};

/// Null where this build or processor has none.
const GemmKernel* gemm_kernel(Isa isa, DType dtype);
/// Bias, activation, residual, conversion.
using GemmFinish = void (*)(const GemmArgs& args, const GemmTile& tile);
GemmFinish gemm_finish(Isa isa);

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/// k of a bf16 panel is rounded up to this: a tile of AMX is 32 deep.
constexpr int64_t kBf16Depth = 32;
inline int64_t packed_depth(DType dtype, int64_t k) {
  return dtype == DType::bf16 ? round_up(k, kBf16Depth) : k;
}

}  // namespace hone::kernels
