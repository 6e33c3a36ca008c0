// The fp32 micro-kernel, for fp32 weights and for bf16 weights widened on the fly. A tile is
// kTileRows x 2 vectors of sums in registers; each step along k loads two vectors of the panel and
// broadcasts one element of each row.

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/gemm_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_f32.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

constexpr int64_t kPanel = 2 * kLanes;
// 28 of 32 registers hold sums with AVX-512, 12 of 16 with AVX2, 16 of 32 with NEON.
constexpr int kTileRows = kLanes == 16 ? 14 : kLanes == 8 ? 6 : 8;

/// sums[r] += a[r] * b over one k, for two vectors of b.
template <int rows>
HWY_INLINE void Step(const float* HWY_RESTRICT a, VF32 b0, VF32 b1, VF32 (&sums)[rows][2]) {
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const VF32 x = hn::Set(kF32, a[r]);
    sums[r][0] = hn::MulAdd(x, b0, sums[r][0]);
    sums[r][1] = hn::MulAdd(x, b1, sums[r][1]);
  }
}

template <int rows>
HWY_INLINE void Sum(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2]) {
  for (int64_t i = 0; i < k; ++i) {
    Step<rows>(a, hn::Load(kF32, b), hn::Load(kF32, b + kLanes), sums);
    a += rows;
    b += kPanel;
  }
}

/// A pair of bf16 in 32 bits: the one of lower k is the lower half.
template <int rows>
HWY_INLINE void Sum(const float* HWY_RESTRICT a, const bf16* HWY_RESTRICT b, int64_t k,
                    VF32 (&sums)[rows][2]) {
  const U32 du;
  const auto* pairs = reinterpret_cast<const uint32_t*>(b);
  const auto upper = hn::Set(du, 0xffff0000u);
  for (int64_t i = 0; i < k; i += 2) {
    const auto b0 = hn::Load(du, pairs);
    const auto b1 = hn::Load(du, pairs + kLanes);
    Step<rows>(a, hn::BitCast(kF32, hn::ShiftLeft<16>(b0)),
               hn::BitCast(kF32, hn::ShiftLeft<16>(b1)), sums);
    Step<rows>(a + rows, hn::BitCast(kF32, hn::And(b0, upper)),
               hn::BitCast(kF32, hn::And(b1, upper)), sums);
    a += 2 * rows;
    pairs += kPanel;
  }
}

template <int rows, typename Weight>
void MultiplyRows(const float* a, const Weight* b, int64_t k, bool add, float* out) {
  VF32 sums[rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    sums[r][0] = add ? hn::Load(kF32, out + r * kPanel) : hn::Zero(kF32);
    sums[r][1] = add ? hn::Load(kF32, out + r * kPanel + kLanes) : hn::Zero(kF32);
  }
  Sum<rows>(a, b, k, sums);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    hn::Store(sums[r][0], kF32, out + r * kPanel);
    hn::Store(sums[r][1], kF32, out + r * kPanel + kLanes);
  }
}

template <typename Weight, int rows = kTileRows>
void Multiply(int64_t wanted, const void* a, const void* b, int64_t k, bool add, float* sums) {
  if (wanted == rows) {
    MultiplyRows<rows>(static_cast<const float*>(a), static_cast<const Weight*>(b), k, add, sums);
  } else if constexpr (rows > 1) {
    Multiply<Weight, rows - 1>(wanted, a, b, k, add, sums);
  }
}

/// [k][rows], fp32; k filled up to `depth`.
template <typename T>
void PackA(const void* a, int64_t lda, int64_t rows, int64_t k, void* out) {
  auto* packed = static_cast<float*>(out);
  const int64_t depth = packed_depth(DTypeOf<T>::value, k);
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = static_cast<const T*>(a) + r * lda;
    for (int64_t i = 0; i < k; ++i) {
      if constexpr (std::is_same_v<T, bf16>) {
        packed[i * rows + r] = to_float(row[i]);
      } else {
        packed[i * rows + r] = row[i];
      }
    }
    for (int64_t i = k; i < depth; ++i) packed[i * rows + r] = 0.0f;
  }
}

HWY_INLINE VF32 LoadAny(const void* base, DType dtype, int64_t at, size_t count) {
  if (dtype == DType::bf16) {
    const bf16* p = static_cast<const bf16*>(base) + at;
    return count >= kLanes ? LoadVector(p) : LoadPart(p, count);
  }
  const float* p = static_cast<const float*>(base) + at;
  return count >= kLanes ? LoadVector(p) : LoadPart(p, count);
}

HWY_INLINE void StoreAny(VF32 value, void* base, DType dtype, int64_t at, size_t count) {
  if (dtype == DType::bf16) {
    bf16* p = static_cast<bf16*>(base) + at;
    return count >= kLanes ? StoreVector(value, p) : StorePart(value, p, count);
  }
  float* p = static_cast<float*>(base) + at;
  return count >= kLanes ? StoreVector(value, p) : StorePart(value, p, count);
}

template <Activation activation>
void FinishAs(const GemmArgs& args, const GemmTile& tile) {
  for (int64_t r = 0; r < tile.rows; ++r) {
    for (int64_t j = 0; j < tile.columns; j += kLanes) {
      const size_t count = static_cast<size_t>(tile.columns - j);
      const int64_t column = tile.column + j;
      VF32 x = hn::Load(kF32, tile.sums + r * kPanel + j);
      if (args.bias) x = hn::Add(x, LoadAny(args.bias, DType::f32, column, count));
      x = Activate<activation>(kF32, x);
      if (args.residual) {
        const int64_t at = (tile.row + r) * args.ldr + column;
        x = hn::Add(x, LoadAny(args.residual, args.residual_dtype, at, count));
      }
      StoreAny(x, args.c, args.c_dtype, (tile.row + r) * args.ldc + column, count);
    }
  }
}

void Finish(const GemmArgs& args, const GemmTile& tile) {
  switch (args.activation) {
    case Activation::none:
      return FinishAs<Activation::none>(args, tile);
    case Activation::gelu:
      return FinishAs<Activation::gelu>(args, tile);
    case Activation::gelu_tanh:
      return FinishAs<Activation::gelu_tanh>(args, tile);
    case Activation::relu:
      return FinishAs<Activation::relu>(args, tile);
    case Activation::silu:
      return FinishAs<Activation::silu>(args, tile);
    case Activation::tanh:
      return FinishAs<Activation::tanh>(args, tile);
  }
}

constexpr GemmKernel kF32Kernel = {kTileRows, 1, 1, 4, &PackA<float>, &Multiply<float>};
constexpr GemmKernel kWidenKernel = {kTileRows, 1, 2, 4, &PackA<bf16>, &Multiply<bf16>};

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

#if HWY_ARCH_X86
const GemmKernel* gemm_kernel(Isa isa, DType dtype) {
  if (dtype == DType::bf16) {
    return isa >= Isa::avx512 ? &N_AVX3::kWidenKernel : &N_AVX2::kWidenKernel;
  }
  return isa >= Isa::avx512 ? &N_AVX3::kF32Kernel : &N_AVX2::kF32Kernel;
}
GemmFinish gemm_finish(Isa isa) { return isa >= Isa::avx512 ? &N_AVX3::Finish : &N_AVX2::Finish; }
#else
const GemmKernel* gemm_kernel(Isa, DType dtype) {
  return dtype == DType::bf16 ? &HWY_STATIC_DISPATCH(kWidenKernel)
                              : &HWY_STATIC_DISPATCH(kF32Kernel);
}
GemmFinish gemm_finish(Isa) { return &HWY_STATIC_DISPATCH(Finish); }
#endif

}  // namespace hone::kernels
#endif
