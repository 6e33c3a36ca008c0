#include "kernels/cuda/layer_norm.h"

#include "kernels/cuda/norm_forward.cuh"

namespace hone::kernels::cuda {
namespace {

/// The rows are s = dropout(x + bias) + residual.
template <typename T>
struct SumSource {
  const T* x;
  const float* bias;
  const T* residual;
  Dropout dropout;

  static constexpr bool kAhead = true;

  struct Parts {
    Chunk x, bias, residual;
  };
  template <bool kAligned>
  __device__ __forceinline__ void fetch_ahead(Parts& parts, int at, int width) const {
    parts = {};
    if (bias) parts.bias = load_columns<kAligned>(bias, at, width);
  }
  template <bool kAligned>
  __device__ __forceinline__ void fetch(Parts& parts, int64_t row, int at, int width) const {
    parts.x = load_columns<kAligned>(x + row * width, at, width);
    if (residual) parts.residual = load_columns<kAligned>(residual + row * width, at, width);
  }
  __device__ __forceinline__ Chunk sum(const Parts& parts, const Dropper& drop, int64_t row,
                                       int at) const {
    Chunk s = parts.x;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) s.value[j] += parts.bias.value[j];
    if (drop.active) drop.apply(row, at, s);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) s.value[j] += parts.residual.value[j];
    return s;
  }
};

}  // namespace

Status layer_norm(const NormForward& args, Stream stream) {
  if (args.rows == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const SumSource<T> source{static_cast<const T*>(args.x), args.bias,
                              static_cast<const T*>(args.residual), args.dropout};
    const bool aligned = aligned16(args.x) && aligned16(args.bias) && aligned16(args.residual);
    return launch_norm<T>(args, source, aligned, stream);
  });
}

}  // namespace hone::kernels::cuda
