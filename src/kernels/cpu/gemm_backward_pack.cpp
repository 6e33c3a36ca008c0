// Transposes go by squares of 128-bit registers: 4 x 4 of 32 bits, 8 x 8 of 16 bits, 2 x 2 of 64
// bits. Wider ones save no instructions that matter: the products take fifty times as long.

#include "kernels/cpu/gemm_backward_pack.h"

#include <algorithm>

#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_backward_pack.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

using F32x4 = hn::FixedTag<float, 4>;
using U16x4 = hn::FixedTag<uint16_t, 4>;
using U16x8 = hn::FixedTag<uint16_t, 8>;
using U32x4 = hn::FixedTag<uint32_t, 4>;
using U64x2 = hn::FixedTag<uint64_t, 2>;

HWY_INLINE hn::Vec<F32x4> Load4(const float* p) { return hn::LoadU(F32x4(), p); }
HWY_INLINE hn::Vec<F32x4> Load4(const bf16* p) {
  const auto bits = hn::LoadU(U16x4(), reinterpret_cast<const uint16_t*>(p));
  return hn::BitCast(F32x4(), hn::ShiftLeft<16>(hn::PromoteTo(U32x4(), bits)));
}

template <typename From, typename To>
struct Square {
  static constexpr int64_t kSide = 4;

  static HWY_INLINE void Transpose(const From* in, int64_t ldin, float* out, int64_t ldout) {
    const F32x4 d;
    const auto a = Load4(in), b = Load4(in + ldin);
    const auto c = Load4(in + 2 * ldin), e = Load4(in + 3 * ldin);
    const auto ab0 = hn::InterleaveLower(d, a, b), ab1 = hn::InterleaveUpper(d, a, b);
    const auto ce0 = hn::InterleaveLower(d, c, e), ce1 = hn::InterleaveUpper(d, c, e);
    hn::StoreU(hn::ConcatLowerLower(d, ce0, ab0), d, out);
    hn::StoreU(hn::ConcatUpperUpper(d, ce0, ab0), d, out + ldout);
    hn::StoreU(hn::ConcatLowerLower(d, ce1, ab1), d, out + 2 * ldout);
    hn::StoreU(hn::ConcatUpperUpper(d, ce1, ab1), d, out + 3 * ldout);
  }
};

template <>
struct Square<bf16, bf16> {
  static constexpr int64_t kSide = 8;

  static HWY_INLINE void Transpose(const bf16* in, int64_t ldin, bf16* out, int64_t ldout) {
    const U16x8 d;
    const U32x4 d2;
    const U64x2 d4;
    hn::Vec<U32x4> pairs[8];  // pairs of rows: [row pair][lower or upper columns]
    for (int i = 0; i < 4; ++i) {
      const auto a = hn::LoadU(d, reinterpret_cast<const uint16_t*>(in + 2 * i * ldin));
      const auto b = hn::LoadU(d, reinterpret_cast<const uint16_t*>(in + (2 * i + 1) * ldin));
      pairs[2 * i] = hn::BitCast(d2, hn::InterleaveLower(d, a, b));
      pairs[2 * i + 1] = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
    }
    for (int half = 0; half < 2; ++half) {
      for (int quarter = 0; quarter < 2; ++quarter) {
        const auto fours = [&](int i) HWY_ATTR {
          const auto a = pairs[i + half], b = pairs[i + 2 + half];
          return hn::BitCast(
              d4, quarter ? hn::InterleaveUpper(d2, a, b) : hn::InterleaveLower(d2, a, b));
        };
        const auto a = fours(0), b = fours(4);
        auto* row = reinterpret_cast<uint16_t*>(out + (4 * half + 2 * quarter) * ldout);
        hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d4, a, b)), d, row);
        hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d4, a, b)), d, row + ldout);
      }
    }
  }
};

HWY_INLINE void Copy(float from, float* to) { *to = from; }
HWY_INLINE void Copy(bf16 from, bf16* to) { *to = from; }
HWY_INLINE void Copy(bf16 from, float* to) { *to = hone::to_float(from); }

/// Goes by lines of the output, so that each is written whole.
template <typename From, typename To>
void TransposeTokens(const TokensToTranspose& args) {
  using Unit = Square<From, To>;
  constexpr int64_t kLine = 64 / sizeof(To);
  const auto* x = static_cast<const From*>(args.x);
  auto* out = static_cast<To*>(args.out);
  const int64_t tokens = args.tokens / Unit::kSide * Unit::kSide;
  const int64_t columns = args.columns / Unit::kSide * Unit::kSide;
  for (int64_t line = 0; line < tokens; line += kLine) {
    const int64_t end = std::min(tokens, line + kLine);
    for (int64_t i = 0; i < columns; i += Unit::kSide) {
      for (int64_t t = line; t < end; t += Unit::kSide) {
        Unit::Transpose(x + t * args.ldx + i, args.ldx, out + i * args.stride + t, args.stride);
      }
    }
  }
  for (int64_t i = 0; i < args.columns; ++i) {
    To* row = out + i * args.stride;
    for (int64_t t = i < columns ? tokens : 0; t < args.tokens; ++t) {
      Copy(x[t * args.ldx + i], row + t);
    }
    std::fill(row + args.tokens, row + args.depth, To{});
  }
}

/// Loads from column `i` on of a row that has `columns`, the missing ones as 0.
template <typename T>
HWY_INLINE VF32 LoadColumns(const T* row, int64_t i, int64_t columns) {
  const int64_t left = columns - i;
  if (left >= static_cast<int64_t>(kLanes)) return LoadVector(row + i);
  return left > 0 ? LoadPart(row + i, static_cast<size_t>(left)) : hn::Zero(kF32);
}

void AddBias(const float* sums, int64_t columns, float* bias) {
  for (int64_t i = 0; i < columns; ++i) bias[i] += sums[i];
}

void PackF32(const TokensToPack& args) {
  const auto* dy = static_cast<const float*>(args.dy);
  auto* out = static_cast<float*>(args.out);
  alignas(64) float sums[kPackColumns] = {};
  for (int64_t t = 0; t < args.tokens; ++t) {
    const float* row = dy + t * args.lddy;
    for (int64_t first = 0; first < args.columns; first += args.width) {
      float* to = out + first * args.depth + t * args.width;
      for (int64_t i = 0; i < args.width; i += kLanes) {
        const VF32 v = LoadColumns(row, first + i, args.columns);
        hn::Store(v, kF32, to + i);
        float* sum = sums + first + i;
        hn::Store(hn::Add(hn::Load(kF32, sum), v), kF32, sum);
      }
    }
  }
  if (args.bias) AddBias(sums, args.columns, args.bias);
}

/// Packs bf16: the upper half of a widened bf16 is the bf16.
void PackBf16(const TokensToPack& args) {
  const U32 du;
  const auto* dy = static_cast<const bf16*>(args.dy);
  auto* out = static_cast<uint32_t*>(args.out);
  alignas(64) float sums[kPackColumns] = {};
  for (int64_t t = 0; t < args.depth; t += 2) {
    const bf16* row = dy + t * args.lddy;
    const int64_t columns = t < args.tokens ? args.columns : 0;
    const int64_t next_columns = t + 1 < args.tokens ? args.columns : 0;
    const bf16* next = next_columns > 0 ? row + args.lddy : row;
    for (int64_t first = 0; first < args.columns; first += args.width) {
      uint32_t* to = out + (first * args.depth + t * args.width) / 2;
      for (int64_t i = 0; i < args.width; i += kLanes) {
        const VF32 a = LoadColumns(row, first + i, columns);
        const VF32 b = LoadColumns(next, first + i, next_columns);
        const auto lower = hn::ShiftRight<16>(hn::BitCast(du, a));
        hn::Store(hn::Or(lower, hn::BitCast(du, b)), du, to + i);
        float* sum = sums + first + i;
        hn::Store(hn::Add(hn::Add(hn::Load(kF32, sum), a), b), kF32, sum);
      }
    }
  }
  if (args.bias) AddBias(sums, args.columns, args.bias);
}

/// Transposes blocks of panel by panel, which are squares on both sides. Two pairs of k (of rows j
/// and j + 1) become two pairs of rows (of k and k + 1): 64 bits whose middle halves change places.
void TransposePairs(const uint16_t* in, int64_t width, uint16_t* out) {
  const U64x2 d;
  const hn::Repartition<uint8_t, U64x2> d8;
  alignas(16) constexpr uint8_t kSwap[16] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
  const auto swap = hn::Load(d8, kSwap);
  const auto swapped = [&](hn::Vec<U64x2> v) HWY_ATTR {
    return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(d8, v), swap));
  };
  const auto* from = reinterpret_cast<const uint64_t*>(in);
  auto* to = reinterpret_cast<uint64_t*>(out);
  const int64_t side = width / 2;
  for (int64_t i = 0; i < side; i += 2) {
    for (int64_t j = 0; j < side; j += 2) {
      const auto a = swapped(hn::Load(d, from + i * side + j));
      const auto b = swapped(hn::Load(d, from + (i + 1) * side + j));
      hn::Store(hn::InterleaveLower(d, a, b), d, to + j * side + i);
      hn::Store(hn::InterleaveUpper(d, a, b), d, to + (j + 1) * side + i);
    }
  }
}

/// Fetches a block: blocks lie far apart, and the processor would not fetch the next one by itself.
HWY_INLINE void FetchBlock(const void* block, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(static_cast<const char*>(block) + i, 0, 2);
  }
}

void TransposePanelBf16(const PackedMatrix& w, int64_t width, int64_t panel, uint16_t* out) {
  const auto* from = static_cast<const uint16_t*>(w.data) + panel * width * width;
  const int64_t panel_size = packed_depth(DType::bf16, w.k) * width;
  const int64_t panels = ceil_div(w.n, width);
  for (int64_t p = 0; p < panels; ++p) {
    FetchBlock(from + (p + 1) * panel_size, width * width * 2);
    TransposePairs(from + p * panel_size, width, out + p * width * width);
  }
  std::fill(out + panels * width * width, out + packed_depth(DType::bf16, w.n) * width,
            uint16_t{0});
}

void TransposePanelF32(const PackedMatrix& w, int64_t width, int64_t panel, float* out) {
  const auto* from = static_cast<const float*>(w.data) + panel * width * width;
  const int64_t rows = std::min(width, w.k - panel * width);
  for (int64_t first = 0; first < w.n; first += width) {
    FetchBlock(from + (first + width) * w.k, width * width * 4);
    TransposeTokens<float, float>({from + first * w.k, width, rows, std::min(width, w.n - first),
                                   out + first * width, width, width});
  }
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

int64_t transposed_stride(int64_t depth, size_t size) {
  constexpr int64_t kPadding = 9;
  const auto line = static_cast<int64_t>(64 / size);
  return round_up(depth, line) + kPadding * line;
}

void transpose_tokens(DType from, DType to, const TokensToTranspose& args) {
  if (from == DType::f32) {
    HONE_TARGET_FUNCTION(TransposeTokens<float, float>)(args);
  } else if (to == DType::f32) {
    HONE_TARGET_FUNCTION(TransposeTokens<bf16, float>)(args);
  } else {
    HONE_TARGET_FUNCTION(TransposeTokens<bf16, bf16>)(args);
  }
}

void pack_tokens(DType dtype, const TokensToPack& args) {
  if (dtype == DType::f32) {
    HONE_TARGET_FUNCTION(PackF32)(args);
  } else {
    HONE_TARGET_FUNCTION(PackBf16)(args);
  }
}

void transpose_panel(const PackedMatrix& w, int64_t panel, void* out) {
  const int64_t width = panel_rows(w.isa);
  if (w.dtype == DType::f32) {
    HONE_TARGET_FUNCTION(TransposePanelF32)(w, width, panel, static_cast<float*>(out));
  } else {
    HONE_TARGET_FUNCTION(TransposePanelBf16)(w, width, panel, static_cast<uint16_t*>(out));
  }
}

}  // namespace hone::kernels
#endif
