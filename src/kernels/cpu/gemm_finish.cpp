// This file does what stands behind the sums of a product: scales of int8, bias, activation,
// residual, conversion.

#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/gemm_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_finish.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation-inl.h"
#include "kernels/cpu/convert-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hone::kernels::HWY_NAMESPACE {

constexpr int64_t kPanel = 2 * kLanes;

/// Sums of a tile as fp32, with the bias of the panel's columns added.
class FloatSums {
 public:
  static constexpr bool kBytes = false;

  FloatSums(const GemmArgs&, const GemmTile& tile) : sums_(static_cast<const float*>(tile.sums)) {}

  HWY_INLINE VF32 Load(int64_t r, int v, VF32 bias) const {
    return hn::Add(hn::Load(kF32, sums_ + r * kPanel + v * kLanes), bias);
  }

 private:
  const float* sums_;
};

/// Gives what a kernel took off every byte of A (gemm_neon_int8.cpp); the row's zero is less by it.
inline int32_t less_of([[maybe_unused]] Isa isa) {
#if HWY_ARCH_X86
  return 0;
#else
  return isa < Isa::neon_i8mm ? 128 : 0;
#endif
}

class Int8Sums {
 public:
  static constexpr bool kBytes = true;

  HWY_INLINE Int8Sums(const GemmArgs& args, const GemmTile& tile)
      : sums_(static_cast<const int32_t*>(tile.sums)),
        rows_(args.a_scales + tile.row * args.lds),
        lds_(args.lds),
        less_(less_of(args.b->isa)) {
    const Int8Columns columns = int8_columns(*args.b, kPanel, tile.column / kPanel);
    for (int v = 0; v < 2; ++v) {
      scales_[v] = hn::Load(kF32, columns.scales + v * kLanes);
      columns_[v] = hn::Load(kI32, columns.sums + v * kLanes);
    }
  }

  HWY_INLINE VF32 Load(int64_t r, int v, VF32 bias) const {
    const RowScale& row = rows_[r * lds_];
    const auto zeros = hn::Mul(hn::Set(kI32, row.zero - less_), columns_[v]);
    const auto centred = hn::Sub(hn::Load(kI32, sums_ + r * kPanel + v * kLanes), zeros);
    const VF32 scale = hn::Mul(hn::Set(kF32, row.scale), scales_[v]);
    return hn::MulAdd(hn::ConvertTo(kF32, centred), scale, bias);
  }

 private:
  static constexpr hn::RebindToSigned<F32> kI32{};

  const int32_t* sums_;
  const RowScale* rows_;
  int64_t lds_;
  int32_t less_;
  VF32 scales_[2];
  hn::Vec<hn::RebindToSigned<F32>> columns_[2];
};

/// Gelu() within 1.4e-4, a hundredth of a step of the bytes that such a row becomes, in a third of
/// its steps: max(x, 0) + t P(t) with t = |x| cut to 3.85, and t P(t) fitted to
/// -t erfc(t / sqrt 2) / 2; it stays at -1e-4 beyond.
HWY_INLINE VF32 ShortGelu(VF32 x) {
  constexpr float c[] = {-0.4987416267f, 0.3824134767f,  0.0567914024f,  -0.1508709043f,
                         0.06190397590f, -0.0107748862f, 0.000708645268f};
  const VF32 t = AtMost(hn::Set(kF32, 3.85f), hn::Abs(x));
  return hn::MulAdd(Polynomial(kF32, t, c), t, AtLeast(hn::Zero(kF32), x));
}

template <Activation activation, bool bytes>
HWY_INLINE VF32 ActivateSum(VF32 x) {
  if constexpr (bytes && activation == Activation::gelu) {
    return ShortGelu(x);
  } else {
    return Activate<activation>(kF32, x);
  }
}

/// Finishes a panel's two vectors of columns, `count` of which are there.
template <typename T>
HWY_INLINE void LoadColumns(const T* p, int64_t count, VF32 (&x)[2]) {
  const int64_t lanes = kLanes;
  x[0] = count >= lanes ? LoadVector(p) : LoadPart(p, count);
  x[1] = count >= kPanel ? LoadVector(p + lanes)
         : count > lanes ? LoadPart(p + lanes, count - lanes)
                         : hn::Zero(kF32);
}
template <bool native, typename T>
HWY_INLINE void StoreColumns(const VF32 (&x)[2], int64_t count, T* p) {
  const int64_t lanes = kLanes;
  if (count >= kPanel) {
    StoreVectorBy<native>(x[0], p);
    StoreVectorBy<native>(x[1], p + lanes);
  } else if (count >= lanes) {
    StoreVectorBy<native>(x[0], p);
    StorePart(x[1], p + lanes, count - lanes);
  } else {
    StorePart(x[0], p, count);
  }
}

template <Activation activation, class Sums, bool native, typename Residual, typename C>
void FinishTile(const GemmArgs& args, const GemmTile& tile) {
  VF32 bias[2] = {hn::Zero(kF32), hn::Zero(kF32)};
  if (args.bias) {
    LoadColumns(static_cast<const float*>(args.bias) + tile.column, tile.columns, bias);
  }
  const auto* residual = static_cast<const Residual*>(args.residual);
  if (residual) residual += tile.row * args.ldr + tile.column;
  C* c = static_cast<C*>(args.c) + tile.row * args.ldc + tile.column;
  const Sums sums(args, tile);
  const char* ahead = tile.fetch.next;
  for (int64_t r = 0; r < tile.rows; ++r, c += args.ldc, ahead += tile.fetch.stride) {
    for (int64_t at = 0; at < tile.fetch.stride; at += int64_t{kCacheLine})
      __builtin_prefetch(ahead + at, 0, 2);
    VF32 x[2];
    for (int v = 0; v < 2; ++v) {
      x[v] = ActivateSum<activation, Sums::kBytes>(sums.Load(r, v, bias[v]));
    }
    if (residual) {
      VF32 add[2];
      LoadColumns(residual + r * args.ldr, tile.columns, add);
      for (int v = 0; v < 2; ++v) x[v] = hn::Add(x[v], add[v]);
    }
    if (args.cuts_sum) {
      for (int v = 0; v < 2; ++v) x[v] = AtLeast(hn::Zero(kF32), x[v]);
    }
    StoreColumns<native>(x, tile.columns, c);
  }
}

template <Activation activation, class Sums, bool native>
void FinishAs(const GemmArgs& args, const GemmTile& tile) {
  const bool residual_bf16 = args.residual && args.residual_dtype == DType::bf16;
  if (args.c_dtype == DType::bf16) {
    residual_bf16 ? FinishTile<activation, Sums, native, bf16, bf16>(args, tile)
                  : FinishTile<activation, Sums, native, float, bf16>(args, tile);
  } else {
    residual_bf16 ? FinishTile<activation, Sums, false, bf16, float>(args, tile)
                  : FinishTile<activation, Sums, false, float, float>(args, tile);
  }
}

template <class Sums, bool native>
void Finish(const GemmArgs& args, const GemmTile& tile) {
  switch (args.activation) {
    case Activation::none:
      return FinishAs<Activation::none, Sums, native>(args, tile);
    case Activation::gelu:
      return FinishAs<Activation::gelu, Sums, native>(args, tile);
    case Activation::gelu_tanh:
      return FinishAs<Activation::gelu_tanh, Sums, native>(args, tile);
    case Activation::relu:
      return FinishAs<Activation::relu, Sums, native>(args, tile);
    case Activation::silu:
      return FinishAs<Activation::silu, Sums, native>(args, tile);
    case Activation::tanh:
      return FinishAs<Activation::tanh, Sums, native>(args, tile);
  }
}

template <bool native>
GemmFinish FinishOf(DType weight) {
  return weight == DType::i8 ? &Finish<Int8Sums, native> : &Finish<FloatSums, native>;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

#if HWY_ARCH_X86
GemmFinish gemm_finish(Isa isa, DType weight) {
  // A test may emulate AMX where not even its bf16 is there.
  const bool native = isa >= Isa::avx512_bf16 && cpu_info().avx512_bf16;
  if (native) return N_AVX3::FinishOf<true>(weight);
  return isa >= Isa::avx512 ? N_AVX3::FinishOf<false>(weight) : N_AVX2::FinishOf<false>(weight);
}
#else
GemmFinish gemm_finish(Isa, DType weight) { return HWY_NAMESPACE::FinishOf<false>(weight); }
#endif

}  // namespace hone::kernels
#endif
