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
  FloatSums(const GemmArgs&, const GemmTile& tile) : sums_(static_cast<const float*>(tile.sums)) {}

  HWY_INLINE auto Row(int64_t r) const {
    return [sums = sums_ + r * kPanel](int64_t j) HWY_ATTR { return hn::Load(kF32, sums + j); };
  }

 private:
  const float* sums_;
};

class Int8Sums {
 public:
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

/// One row of a tile; bias and residual may be null.
template <Activation activation, class Sums, typename Residual, typename C>
HWY_INLINE void FinishRow(const Sums& sums, const float* bias, const Residual* residual,
                          int64_t count, C* c) {
  const auto finish = [&](VF32 x, auto load) HWY_ATTR {
    if (bias) x = hn::Add(x, load(bias));
    x = Activate<activation>(kF32, x);
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
    FinishRow<activation>(sums.Row(r), bias, residual, tile.columns, c);
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
