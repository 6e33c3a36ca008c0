#pragma once

#include "kernels/cuda/convolution.h"
#include "kernels/cuda/linear_gelu.cuh"

/// Tiles of patches that the copy engine takes from images (compute capability 9.0).
namespace hone::kernels::cuda {

/// Describes images to the copy engine: what it copies is 64 channels of `rows` rows of patches,
/// under one tap.
Status describe_patches(CUtensorMap* map, DType dtype, const void* images, int64_t count,
                        const Window& w, int rows);
/// Says whether the current device, and what it needs of the images and of a matrix of `columns`
/// beside them, are there.
bool patches_fit(const Convolution& args, const Window& w, int64_t columns);

/// Copies 64 channels of patches under a tap; (x, y) is where the first patch begins in its image.
__device__ __forceinline__ void load_patches(uint32_t to, const CUtensorMap& map, int channel,
                                             int x, int y, int image, int tap_x, int tap_y,
                                             uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};\n" ::"r"(to),
      "l"(&map), "r"(channel), "r"(x), "r"(y), "r"(image), "r"(barrier),
      "h"(static_cast<uint16_t>(tap_x)), "h"(static_cast<uint16_t>(tap_y))
      : "memory");
}

/// Where the first patch of a tile of output pixels begins.
struct FirstPatch {
  int image, x, y;

  __device__ __forceinline__ FirstPatch(int row, int out_height, int out_width, int stride,
                                        int padding) {
    image = row / (out_height * out_width);
    const int pixel = row - image * out_height * out_width;
    y = pixel / out_width * stride - padding;
    x = pixel % out_width * stride - padding;
  }
};

/// Sets a tile's sums to the bias of their columns, or to 0.
__device__ __forceinline__ void begin_tile(TileSums& sums, const GeluSizes& s, int column) {
  const int first = column + static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
  for (int j = 0; j < kTileColumns / 8; ++j) {
    float2 bias = {0.0f, 0.0f};
    if (s.bias && first + 8 * j < s.columns) {
      bias = *reinterpret_cast<const float2*>(s.bias + first + 8 * j);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // one by one, or ptxas finds them set among the products
      asm volatile("mov.f32 %0, %1;\n"
                   : "=f"(sums[i / 4][4 * j + i % 4])
                   : "f"(i % 2 == 0 ? bias.x : bias.y));
    }
  }
}

}  // namespace hone::kernels::cuda
