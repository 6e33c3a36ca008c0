// What stands behind the sums of a product: scales of int8, bias, activation, residual, conversion.

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

/// Sums of a tile as fp32: Row(r)(j) is a vector of row r from column j on.
class FloatSums {
 public:
  static constexpr bool kBytes = false;

  FloatSums(const GemmArgs&, const GemmTile& tile) : sums_(static_cast<const float*>(tile.sums)) {}

  HWY_INLINE auto Row(int64_t r) const {
    return [sums = sums_ + r * kPanel](int64_t j) HWY_ATTR { return hn::Load(kF32, sums + j); };
  }

 private:
  const float* sums_;
};

class Int8Sums {
 public:
  static constexpr bool kBytes = true;

  Int8Sums(const GemmArgs& args, const GemmTile& tile)
      : sums_(static_cast<const int32_t*>(tile.sums)),
        rows_(args.a_scales + tile.row * args.lds),
        lds_(args.lds),
        columns_(int8_columns(*args.b, tile.column / kPanel)) {}

  HWY_INLINE auto Row(int64_t r) const {
    constexpr hn::RebindToSigned<F32> di;
    const RowScale& row = rows_[r * lds_];
    const auto zero = hn::Set(di, row.zero);
    const VF32 scale = hn::Set(kF32, row.scale);
    return [=, sums = sums_ + r * kPanel, columns = columns_](int64_t j) HWY_ATTR {
      const auto centred =
          hn::Sub(hn::Load(di, sums + j), hn::Mul(zero, hn::Load(di, columns.sums + j)));
      return hn::Mul(hn::ConvertTo(kF32, centred),
                     hn::Mul(scale, hn::Load(kF32, columns.scales + j)));
    };
  }

 private:
  const int32_t* sums_;
  const RowScale* rows_;
  int64_t lds_;
  Int8Columns columns_;
};

/// Gelu() within 1.4e-4, a hundredth of a step of the bytes that such a row becomes, in a third of
/// its time: x (1/2 + c P(c^2)) with c = x cut to [-4, 4] and c P(c^2) = erf(c / sqrt 2) / 2,
/// fitted to be 1/2 at 4, so that x goes on as itself and -x as 0.
HWY_INLINE VF32 ShortGelu(VF32 x) {
  constexpr float c[] = {0.39819002f,    -0.065069683f,   0.0090427576f, -0.00088355987f,
                         5.7500776e-05f, -2.3175301e-06f, 5.081618e-08f, -4.4248241e-10f};
  const VF32 cut = hn::Min(hn::Max(x, hn::Set(kF32, -4.0f)), hn::Set(kF32, 4.0f));
  const VF32 half = hn::MulAdd(cut, Polynomial(kF32, hn::Mul(cut, cut), c), hn::Set(kF32, 0.5f));
  return hn::Mul(x, half);
}

template <Activation activation, bool bytes>
HWY_INLINE VF32 ActivateSum(VF32 x) {
  if constexpr (bytes && activation == Activation::gelu) {
    return ShortGelu(x);
  } else {
    return Activate<activation>(kF32, x);
  }
}

/// One row of a tile; bias and residual may be null.
template <Activation activation, bool bytes, class Sums, typename Residual, typename C>
HWY_INLINE void FinishRow(const Sums& sums, const float* bias, const Residual* residual,
                          int64_t count, C* c) {
  const auto finish = [&](VF32 x, auto load) HWY_ATTR {
    if (bias) x = hn::Add(x, load(bias));
    x = ActivateSum<activation, bytes>(x);
    return residual ? hn::Add(x, load(residual)) : x;
  };
  int64_t j = 0;
  for (; j + static_cast<int64_t>(kLanes) <= count; j += kLanes) {
    const auto load = [j](const auto* p) HWY_ATTR { return LoadVector(p + j); };
    StoreVector(finish(sums(j), load), c + j);
  }
  if (const size_t rest = static_cast<size_t>(count) % kLanes; rest != 0) {
    const auto load = [j, rest](const auto* p) HWY_ATTR { return LoadPart(p + j, rest); };
    StorePart(finish(sums(j), load), c + j, rest);
  }
}

template <Activation activation, class Sums, typename Residual, typename C>
void FinishTile(const GemmArgs& args, const GemmTile& tile) {
  const auto* bias = static_cast<const float*>(args.bias);
  if (bias) bias += tile.column;
  const auto* residual = static_cast<const Residual*>(args.residual);
  if (residual) residual += tile.row * args.ldr + tile.column;
  C* c = static_cast<C*>(args.c) + tile.row * args.ldc + tile.column;
  const Sums sums(args, tile);
  for (int64_t r = 0; r < tile.rows; ++r) {
    FinishRow<activation, Sums::kBytes>(sums.Row(r), bias, residual, tile.columns, c);
    if (residual) residual += args.ldr;
    c += args.ldc;
  }
}

template <Activation activation, class Sums>
void FinishAs(const GemmArgs& args, const GemmTile& tile) {
  const bool residual_bf16 = args.residual && args.residual_dtype == DType::bf16;
  if (args.c_dtype == DType::bf16) {
    residual_bf16 ? FinishTile<activation, Sums, bf16, bf16>(args, tile)
                  : FinishTile<activation, Sums, float, bf16>(args, tile);
  } else {
    residual_bf16 ? FinishTile<activation, Sums, bf16, float>(args, tile)
                  : FinishTile<activation, Sums, float, float>(args, tile);
  }
}

template <class Sums>
void Finish(const GemmArgs& args, const GemmTile& tile) {
  switch (args.activation) {
    case Activation::none:
      return FinishAs<Activation::none, Sums>(args, tile);
    case Activation::gelu:
      return FinishAs<Activation::gelu, Sums>(args, tile);
    case Activation::gelu_tanh:
      return FinishAs<Activation::gelu_tanh, Sums>(args, tile);
    case Activation::relu:
      return FinishAs<Activation::relu, Sums>(args, tile);
    case Activation::silu:
      return FinishAs<Activation::silu, Sums>(args, tile);
    case Activation::tanh:
      return FinishAs<Activation::tanh, Sums>(args, tile);
  }
}

GemmFinish FinishOf(DType weight) {
  return weight == DType::i8 ? &Finish<Int8Sums> : &Finish<FloatSums>;
}

}  // namespace hone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hone::kernels {

#if HWY_ARCH_X86
GemmFinish gemm_finish(Isa isa, DType weight) {
  return isa >= Isa::avx512 ? N_AVX3::FinishOf(weight) : N_AVX2::FinishOf(weight);
}
#else
GemmFinish gemm_finish(Isa, DType weight) { return HWY_STATIC_DISPATCH(FinishOf)(weight); }
#endif

}  // namespace hone::kernels
#endif
