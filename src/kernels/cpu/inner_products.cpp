// Products of queries with rows: tiles of a few queries by four rows, each sum in a vector of its
// own along the width. Four such vectors become four sums at once.

#include "kernels/cpu/inner_products.h"

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/inner_products.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

constexpr int kRowTile = 4;
// Sums of a tile, its rows and a query take at most the registers there are.
constexpr int kQueryTile = kLanes == 16 ? 4 : 2;
// Rows that queries pass over while they lie in the first cache.
constexpr int64_t kRowBlock = 16;
// A lone query waits for memory: rows are fetched this many bytes ahead of their use, into the
// second cache. Past the caches (NTA) is half as fast on Sapphire Rapids, whose own prefetching it
// misses.
constexpr int64_t kFetchBytes = 8 << 10;

HWY_INLINE VF32 LoadRow(const float* p) { return hn::Load(kF32, p); }
HWY_INLINE VF32 LoadRow(const bf16* p) { return LoadVector(p); }
HWY_INLINE VF32 LoadRow(const uint8_t* p) {
  const hn::RebindToSigned<F32> d32;
  const auto bytes = hn::LoadU(hn::Rebind<uint8_t, F32>(), p);
  return hn::ConvertTo(kF32, hn::Sub(hn::PromoteTo(d32, bytes), hn::Set(d32, 128)));
}

/// Adds the blocks of 128 bits of a vector.
template <class D>
HWY_INLINE auto AddBlocks(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return v;
  } else {
    const hn::Half<D> half;
    return AddBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Gives the sums of the lanes of four vectors. Each goes the same way, wherever it stands.
HWY_INLINE auto SumsOfFour(VF32 a, VF32 b, VF32 c, VF32 d) {
  const hn::Repartition<double, F32> d64;
  const VF32 ab = hn::Add(hn::InterleaveLower(kF32, a, b), hn::InterleaveUpper(kF32, a, b));
  const VF32 cd = hn::Add(hn::InterleaveLower(kF32, c, d), hn::InterleaveUpper(kF32, c, d));
  const auto low = hn::InterleaveLower(d64, hn::BitCast(d64, ab), hn::BitCast(d64, cd));
  const auto high = hn::InterleaveUpper(d64, hn::BitCast(d64, ab), hn::BitCast(d64, cd));
  return AddBlocks(kF32, hn::Add(hn::BitCast(kF32, low), hn::BitCast(kF32, high)));
}

/// Multiplies `queries` queries with four rows; rows behind the last repeat it and are not written.
template <int queries, bool fetch, typename T>
HWY_INLINE void MultiplyTile(const float* query, const T* const* rows, int64_t width, int64_t count,
                             float* out, int64_t ldo) {
  const hn::FixedTag<float, 4> d4;
  VF32 sums[queries][kRowTile];
  for (auto& row : sums) {
    for (VF32& sum : row) sum = hn::Zero(kF32);
  }
  const int64_t lanes = kLanes;
  for (int64_t i = 0; i < width; i += lanes) {
    VF32 values[kRowTile];
#pragma GCC unroll 4
    for (int r = 0; r < kRowTile; ++r) {
      values[r] = LoadRow(rows[r] + i);
      if constexpr (fetch) {
        __builtin_prefetch(reinterpret_cast<const char*>(rows[r] + i) + kFetchBytes, 0, 2);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < queries; ++q) {
      const VF32 x = hn::Load(kF32, query + q * width + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRowTile; ++r) sums[q][r] = hn::MulAdd(x, values[r], sums[q][r]);
    }
  }
  for (int q = 0; q < queries; ++q) {
    const auto four = SumsOfFour(sums[q][0], sums[q][1], sums[q][2], sums[q][3]);
    if (count == kRowTile) {
      hn::StoreU(four, d4, out + q * ldo);
    } else {
      alignas(16) float part[kRowTile];
      hn::Store(four, d4, part);
      for (int64_t r = 0; r < count; ++r) out[q * ldo + r] = part[r];
    }
  }
}

template <int queries, bool fetch, typename T>
void MultiplyBlock(const float* query, const T* rows, int64_t row_count, int64_t width, float* out,
                   int64_t ldo) {
  for (int64_t r = 0; r < row_count; r += kRowTile) {
    const int64_t count = HWY_MIN(row_count - r, int64_t{kRowTile});
    const T* tile[kRowTile];
    for (int64_t i = 0; i < kRowTile; ++i) tile[i] = rows + (r + HWY_MIN(i, count - 1)) * width;
    MultiplyTile<queries, fetch>(query, tile, width, count, out + r, ldo);
  }
}

template <typename T>
void InnerProducts(const float* queries, int64_t query_count, const T* rows, int64_t row_count,
                   int64_t width, float* out, int64_t ldo) {
  if (query_count == 1) return MultiplyBlock<1, true>(queries, rows, row_count, width, out, ldo);
  for (int64_t r = 0; r < row_count; r += kRowBlock) {
    const int64_t count = HWY_MIN(row_count - r, kRowBlock);
    const T* block = rows + r * width;
    int64_t q = 0;
    for (; q + kQueryTile <= query_count; q += kQueryTile) {
      MultiplyBlock<kQueryTile, false>(queries + q * width, block, count, width, out + q * ldo + r,
                                       ldo);
    }
    for (; q < query_count; ++q) {
      MultiplyBlock<1, false>(queries + q * width, block, count, width, out + q * ldo + r, ldo);
    }
  }
}

/// Widens both sides to 16 bits, whose products are added in pairs to 32: exact.
void ByteProducts(const int8_t* query, const uint8_t* rows, int64_t row_count, int64_t width,
                  int32_t* out) {
  using I32 = hn::ScalableTag<int32_t>;
  using I16 = hn::Repartition<int16_t, I32>;
  const I32 d32;
  const I16 d16;
  const hn::Repartition<uint8_t, I32> d8;
  const hn::RebindToUnsigned<I16> du16;
  const auto add = [&](hn::Vec<I16> a, hn::Vec<I16> b, hn::Vec<I32> sum) HWY_ATTR {
    hn::Vec<I32> rest = hn::Zero(d32);
    const auto products = hn::ReorderWidenMulAccumulate(d32, a, b, hn::Zero(d32), rest);
    return hn::Add(sum, hn::RearrangeToOddPlusEven(products, rest));
  };
  const auto bytes = static_cast<int64_t>(hn::Lanes(d8));
  for (int64_t r = 0; r < row_count; ++r, rows += width) {
    auto sum = hn::Zero(d32);
    for (int64_t i = 0; i < width; i += bytes) {
      const auto row = hn::BitCast(du16, hn::Load(d8, rows + i));
      const auto x = hn::BitCast(d16, hn::Load(d8, reinterpret_cast<const uint8_t*>(query) + i));
      const auto even = hn::BitCast(d16, hn::And(row, hn::Set(du16, 0xff)));
      sum = add(even, hn::ShiftRight<8>(hn::ShiftLeft<8>(x)), sum);
      sum = add(hn::BitCast(d16, hn::ShiftRight<8>(row)), hn::ShiftRight<8>(x), sum);
    }
    out[r] = hn::GetLane(hn::SumOfLanes(d32, sum));
  }
}

void HighestScores(const int32_t* dots, const ByteScores& how, int64_t count, float* out) {
  const hn::RebindToSigned<F32> d32;
  const int64_t lanes = kLanes;
  const VF32 scale = hn::Set(kF32, how.scale), norm = hn::Set(kF32, how.query_norm),
             error = hn::Set(kF32, how.query_error);
  const auto offset = hn::Set(d32, how.offset);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const VF32 dot = hn::ConvertTo(kF32, hn::Add(hn::LoadU(d32, dots + i), offset));
    VF32 score = hn::Mul(dot, hn::Mul(scale, hn::LoadU(kF32, how.row_scales + i)));
    if (how.biases) score = hn::Add(score, hn::LoadU(kF32, how.biases + i));
    score = hn::MulAdd(hn::LoadU(kF32, how.row_errors + i), norm, score);
    hn::StoreU(hn::MulAdd(hn::LoadU(kF32, how.row_norms + i), error, score), kF32, out + i);
  }
  for (; i < count; ++i) {
    const auto dot = static_cast<float>(dots[i] + how.offset);
    const float score = dot * (how.scale * how.row_scales[i]) + (how.biases ? how.biases[i] : 0);
    out[i] = score + how.row_errors[i] * how.query_norm + how.row_norms[i] * how.query_error;
  }
}

int64_t IndicesAbove(const float* scores, int64_t count, float threshold, int32_t* out) {
  const VF32 least = hn::Set(kF32, threshold);
  const int64_t lanes = kLanes;
  int64_t found = 0, i = 0;
  const auto take = [&](int64_t end) {
    for (int64_t j = i; j < end; ++j) {
      out[found] = static_cast<int32_t>(j);
      found += scores[j] > threshold;
    }
  };
  for (; i + lanes <= count; i += lanes) {
    if (!hn::AllFalse(kF32, hn::Gt(hn::LoadU(kF32, scores + i), least))) take(i + lanes);
  }
  if (i < count) take(count);
  return found;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

template <typename T>
void inner_products(const float* queries, int64_t query_count, const T* rows, int64_t row_count,
                    int64_t width, float* out, int64_t ldo) {
  HONE_TARGET_FUNCTION(InnerProducts<T>)(queries, query_count, rows, row_count, width, out, ldo);
}
template void inner_products(const float*, int64_t, const float*, int64_t, int64_t, float*,
                             int64_t);
template void inner_products(const float*, int64_t, const bf16*, int64_t, int64_t, float*, int64_t);
template void inner_products(const float*, int64_t, const uint8_t*, int64_t, int64_t, float*,
                             int64_t);

void byte_products(const int8_t* query, const uint8_t* rows, int64_t row_count, int64_t width,
                   int32_t* out) {
#if HWY_ARCH_X86
  if (chosen_isa() >= Isa::avx512_vnni) {
    return byte_products_vnni(query, rows, row_count, width, out);
  }
#endif
  HONE_TARGET_FUNCTION(ByteProducts)(query, rows, row_count, width, out);
}

void highest_scores(const int32_t* dots, const ByteScores& how, int64_t count, float* out) {
  HONE_TARGET_FUNCTION(HighestScores)(dots, how, count, out);
}

int64_t indices_above(const float* scores, int64_t count, float threshold, int32_t* out) {
  return HONE_TARGET_FUNCTION(IndicesAbove)(scores, count, threshold, out);
}

}  // namespace hone::kernels
#endif
