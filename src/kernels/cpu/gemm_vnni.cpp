// The int8 micro-kernel of AVX512-VNNI: bytes of A from 0 to 255 by bytes of the weight from -127
// to 127, four products to a sum of 32 bits, which cannot saturate.

#include "kernels/cpu/gemm_groups-inl.h"
#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {
namespace {

struct Bytes {
  using Sum = __m512i;
  static Sum zero() { return _mm512_setzero_si512(); }
  static Sum load(const char* from) { return _mm512_load_si512(from); }
  static void store(char* to, Sum sum) { _mm512_store_si512(to, sum); }
  static Sum dot(Sum sum, __m512i rows, __m512i columns) {
    return _mm512_dpbusd_epi32(sum, rows, columns);
  }
};

void copy_row(const void* from, int64_t k, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(k));
}

constexpr GemmKernel kKernel = {
    .tile_rows = groups::kTileRows,
    .row_unit = 1,
    .k_unit = kInt8Depth,
    .whole = 400 << 10,
    .slice = 3072,
    .fetches_next = true,
    .fetches_ahead = true,
    .k_step = 4,
    .a_size = sizeof(uint8_t),
    .copy_row = &copy_row,
    .multiply = &groups::multiply<Bytes, uint8_t>,
    .begin = nullptr,
    .end = nullptr,
};

}  // namespace

const GemmKernel* gemm_vnni_kernel() { return &kKernel; }

}  // namespace hone::kernels
