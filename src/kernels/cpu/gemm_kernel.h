#pragma once

#include "kernels/cpu/gemm.h"

/// A GemmKernel is a micro-kernel for one instruction set and dtype, which gemm.cpp drives. It is
/// internal.
namespace hone::kernels {

constexpr size_t kCacheLine = 64;

/// Bytes to fetch ahead: from `next` on, `stride` with each step (0: nothing, as it were), of
/// which a kernel that counts on the processor to fetch lines by two asks for the first line only.
struct GemmFetch {
  const char* next;
  int64_t stride;
};

struct GemmKernel {
  int64_t tile_rows;  ///< most rows of A that one call of multiply takes
  int64_t row_unit;   ///< it reads whole units of rows, and writes as many
  int64_t k_unit;     ///< k is a multiple of this
  /// Where a block of A has more bytes than `whole`, k is cut into slices of `slice`, a multiple of
  /// k_unit, so that a slice of the block stays in a cache while the panels pass.
  int64_t whole;
  int64_t slice;
  /// Say whether weights are better fetched by hand than by the processor: those that come next
  /// while several tiles are multiplied by a panel; those ahead of the one tile that streams them.
  bool fetches_next;
  bool fetches_ahead;
  /// Bytes of what is fetched ahead of one tile that wait for each row's finish: memory then works
  /// on while the sums become C. A multiple of a cache line.
  int64_t finish_fetch = 0;
  int64_t k_step;         ///< k of one step of multiply
  size_t a_size;          ///< bytes of an element of A as multiply reads it
  bool copies_a = false;  ///< whether copy_row changes what it copies: all of A is copied then
  /// Copies k elements of a row of A as they come to A as multiply reads it. Rows that cannot be
  /// read where they are need it.
  void (*copy_row)(const void* from, int64_t k, void* to);
  /// sums[r * panel_rows + j], fp32 or for i8 int32, = (or +=, where `add`) sum of a(r, i) * b(j,
  /// i) over i < k, ascending in i: splitting k over several calls does not change a bit. Rows of A
  /// are lda elements apart. Meanwhile `fetch` goes on into the L2 cache.
  void (*multiply)(int64_t rows, const void* a, int64_t lda, const void* b, int64_t k, bool add,
                   void* sums, GemmFetch fetch);
  /// These are called around a worker's run of multiply; they may be null.
  void (*begin)();
  void (*end)();
};

/// Gives the kernel of fp32, and of bf16 widened to fp32.
const GemmKernel* gemm_f32_kernel(Isa isa, DType dtype);
/// Gives the kernel by AVX512-BF16's dot products.
const GemmKernel* gemm_bf16_kernel();
const GemmKernel* gemm_amx_kernel();
/// Give the kernels of i8: as integers of 16 bits, by AVX512-VNNI, by AMX. All give the same sums.
const GemmKernel* gemm_int8_kernel(Isa isa);
const GemmKernel* gemm_vnni_kernel();
const GemmKernel* gemm_amx_int8_kernel();
/// Give the kernels of 64-bit ARM: of bytes as integers of 16 bits, by dot products and by I8MM,
/// and of bf16.
const GemmKernel* gemm_neon_int8_kernel();
const GemmKernel* gemm_neon_dotprod_kernel();
const GemmKernel* gemm_neon_i8mm_kernel();
const GemmKernel* gemm_neon_bf16_kernel();
/// Copies bytes of A less 128, as the first two of these read them.
void copy_row_less_128(const void* from, int64_t k, void* to);
/// Gives the kernel that gemm() takes.
const GemmKernel& gemm_kernel(Isa isa, DType dtype);

/// A tile of sums on its way to C.
struct GemmTile {
  int64_t row, column;    ///< place in C
  int64_t rows, columns;  ///< columns may be fewer than the panel has
  const void* sums;       ///< rows of panel_rows(isa), as GemmKernel's multiply gives them
  GemmFetch fetch;        ///< goes on meanwhile, a stride with each row
};

/// Finishes a tile: scales of i8, bias, activation, residual, conversion.
using GemmFinish = void (*)(const GemmArgs& args, const GemmTile& tile);
GemmFinish gemm_finish(Isa isa, DType weight);

/// gemm_workspace() and gemm() with a kernel of the caller's choice, for tests.
size_t gemm_workspace_with(const GemmKernel& kernel, const GemmArgs& args, int threads);
void gemm_with(const GemmKernel& kernel, const GemmArgs& args, void* workspace, ThreadPool& pool);

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

/// k of a bf16 panel is rounded up to this: a tile of AMX is 32 deep.
constexpr int64_t kBf16Depth = 32;
/// k of an i8 panel is rounded up to this: a tile of AMX is 64 bytes deep.
constexpr int64_t kInt8Depth = 64;
inline int64_t packed_depth(DType dtype, int64_t k) {
  if (dtype == DType::i8) return round_up(k, kInt8Depth);
  return dtype == DType::bf16 ? round_up(k, kBf16Depth) : k;
}
/// Gives the bytes from one panel to the next.
inline size_t panel_bytes(Isa isa, DType dtype, int64_t k) {
  const size_t scales = dtype == DType::i8 ? sizeof(float) + sizeof(int32_t) : 0;
  return static_cast<size_t>(panel_rows(isa)) *
         (static_cast<size_t>(packed_depth(dtype, k)) * dtype_size(dtype) + scales);
}
/// Holds what stands behind the bytes of an i8 panel: scales and sums of its columns.
struct Int8Columns {
  const float* scales;
  const int32_t* sums;
};
inline Int8Columns int8_columns(const PackedMatrix& b, int64_t width, int64_t panel) {
  const int64_t bytes = width * round_up(b.k, kInt8Depth);
  constexpr int64_t kBehind = sizeof(float) + sizeof(int32_t);
  const auto* start =
      static_cast<const std::byte*>(b.data) + panel * (bytes + width * kBehind) + bytes;
  const auto* scales = reinterpret_cast<const float*>(start);
  return {scales, reinterpret_cast<const int32_t*>(scales + width)};
}

}  // namespace hone::kernels
