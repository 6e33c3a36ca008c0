#include "kernels/cuda/linear_gelu.cuh"

#include "kernels/cuda/linear_gelu.h"

namespace hone::kernels::cuda {
namespace {

/// Computes the normal distribution for bf16 as 1 / (1 + 2^u), u an odd polynomial that is off by
/// less than 2^-11 of gelu(x), or by 1e-6 below -3: three instructions less than narrow_gelu(),
/// each of which costs the product time.
template <typename T>
__device__ __forceinline__ float gelu_of(float x) {
  if constexpr (!std::is_same_v<T, __nv_bfloat16>) return narrow_gelu(x).value;
  const float square = x * x;
  float u = fmaf(-1.9712990e-6f, square, 5.6905501e-5f);
  u = fmaf(u, square, 6.0416628e-4f);
  u = fmaf(u, square, -0.10589191f);
  u = fmaf(u, square, -2.3015669f);
  return x * fast_reciprocal(1.0f + fast_exp2(x * u));
}

/// Sets the bias before the product, and writes z and gelu(z) to memory behind it.
template <typename T>
struct GeluEnd {
  using Type = T;
  static constexpr bool kBackward = false;

  __device__ __forceinline__ GeluEnd(const GeluMaps& maps_, const GeluSizes& sizes_,
                                     uint32_t memory)
      : maps(maps_), sizes(sizes_) {
    const int warp = static_cast<int>(threadIdx.x / 32) - 4;
    chunks = memory + GeluMemory::kResults + warp * kChunks * kChunkBytes;
  }

  __device__ __forceinline__ void begin(TileSums& sums, int, int column) const {
    const int first = column + static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
    for (int j = 0; j < kTileColumns / 8; ++j) {
      float2 bias = {0.0f, 0.0f};
      if (sizes.bias && first + 8 * j < sizes.columns) {
        bias = *reinterpret_cast<const float2*>(sizes.bias + first + 8 * j);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {  // one by one, or ptxas finds them set among the products
        asm volatile("mov.f32 %0, %1;\n"
                     : "=f"(sums[i / 4][4 * j + i % 4])
                     : "f"(i % 2 == 0 ? bias.x : bias.y));
      }
    }
  }

  __device__ __forceinline__ void turn(int, int) const {}

  __device__ __forceinline__ void finish(TileSums& sums, int row, int column) const {
    row += static_cast<int>(threadIdx.x / 32 % 4) * 16;
    if (sizes.z) store_tile<T>(sums, chunks, maps.z, row, column);
#pragma unroll
    for (int i = 0; i < kTileColumns; ++i) {
      float& value = sums[i / 64][i % 64];
      value = gelu_of<T>(value);
    }
    store_tile<T>(sums, chunks, maps.out, row, column);
  }

  const GeluMaps& maps;
  const GeluSizes& sizes;
  uint32_t chunks;
};

template <typename T>
Status launch(const LinearGelu& args, Stream stream) {
  GeluMaps maps;
  const void* z = args.z ? args.z : args.y;
  Status status = describe_boxes(&maps.a, args.dtype, args.x, args.m, args.k, args.ldx, kTileRows);
  if (!status) {
    status = describe_boxes(&maps.b, args.dtype, args.weight, args.n, args.k, args.k, kTileColumns);
  }
  if (!status) status = describe_boxes(&maps.z, args.dtype, z, args.m, args.n, args.n, 16);
  if (!status) status = describe_boxes(&maps.out, args.dtype, args.y, args.m, args.n, args.n, 16);
  if (status) return status;
  const GeluSizes sizes{.rows = static_cast<int>(args.m),
                        .columns = static_cast<int>(args.n),
                        .depth = static_cast<int>(args.k),
                        .bias = args.bias,
                        .z = args.z != nullptr};
  return launch_linear_gelu<GeluEnd<T>>(maps, sizes, stream);
}

}  // namespace

bool linear_gelu_fits(const LinearGelu& args) {
  return gelu_product_fits(args.dtype, args.m, args.n, args.k, args.ldx) && aligned16(args.x) &&
         aligned16(args.weight) && aligned16(args.bias) && aligned16(args.z) && aligned16(args.y);
}

Status linear_gelu(const LinearGelu& args, Stream stream) {
  if (!linear_gelu_fits(args)) return "a product with GELU that its kernel does not take";
  if (args.m == 0) return nullptr;
  return args.dtype == DType::bf16 ? launch<__nv_bfloat16>(args, stream)
                                   : launch<__half>(args, stream);
}

}  // namespace hone::kernels::cuda
