// Products of bytes by AVX512-VNNI: bytes of rows from 0 to 255 by bytes of a query, four products
// to a sum of 32 bits, which cannot saturate.

#include <immintrin.h>

#include "kernels/cpu/inner_products.h"

namespace hone::kernels {
namespace {

constexpr int64_t kFetchBytes = 4 << 10;

// Forms with a mask of all lanes: GCC takes what the others are made of for uninitialised.
__m512i low_words(__m512i a, __m512i b) { return _mm512_maskz_unpacklo_epi32(0xffff, a, b); }
__m512i high_words(__m512i a, __m512i b) { return _mm512_maskz_unpackhi_epi32(0xffff, a, b); }

/// Gives the sums of the lanes of four vectors.
__m128i sums_of_four(const __m512i* sums) {
  const __m512i ab = _mm512_add_epi32(low_words(sums[0], sums[1]), high_words(sums[0], sums[1]));
  const __m512i cd = _mm512_add_epi32(low_words(sums[2], sums[3]), high_words(sums[2], sums[3]));
  const __m512i all = _mm512_add_epi32(_mm512_maskz_unpacklo_epi64(0xff, ab, cd),
                                       _mm512_maskz_unpackhi_epi64(0xff, ab, cd));
  alignas(64) __m128i parts[4];
  _mm512_store_si512(parts, all);
  return _mm_add_epi32(_mm_add_epi32(parts[0], parts[1]), _mm_add_epi32(parts[2], parts[3]));
}

}  // namespace

void byte_products_vnni(const int8_t* query, const uint8_t* rows, int64_t row_count, int64_t width,
                        int32_t* out) {
  for (int64_t r = 0; r < row_count; r += 4) {
    const int64_t count = row_count - r < 4 ? row_count - r : 4;
    const uint8_t* at[4];
    for (int64_t i = 0; i < 4; ++i) at[i] = rows + (r + (i < count ? i : count - 1)) * width;
    __m512i sums[4] = {};
    for (int64_t i = 0; i < width; i += 64) {
      const __m512i x = _mm512_load_si512(query + i);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        sums[j] = _mm512_dpbusd_epi32(sums[j], _mm512_load_si512(at[j] + i), x);
        __builtin_prefetch(at[j] + i + kFetchBytes, 0, 2);
      }
    }
    const __m128i four = sums_of_four(sums);
    if (count == 4) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + r), four);
    } else {
      alignas(16) int32_t part[4];
      _mm_store_si128(reinterpret_cast<__m128i*>(part), four);
      for (int64_t i = 0; i < count; ++i) out[r + i] = part[i];
    }
  }
}

}  // namespace hone::kernels
