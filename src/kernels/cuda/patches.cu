#include "kernels/cuda/patches.h"

#include "kernels/cuda/geometry.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kRowsAtOnce = 8;  // rows of patches that a block is at

/// A thread has one place in the row of a patch, and goes from patch to patch. Where kAligned, a
/// chunk lies within one pixel.
template <bool kAligned, typename T>
__global__ void __launch_bounds__(32 * kRowsAtOnce)
    patches_kernel(Geometry g, int64_t count, int64_t stride, const T* x, T* rows) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int at = static_cast<int>((blockIdx.x * 32 + threadIdx.x % 32) * kChunk);
  if (at >= stride) return;
  const int64_t step = int64_t{gridDim.y} * kRowsAtOnce;
  for (int64_t row = int64_t{blockIdx.y} * kRowsAtOnce + threadIdx.x / 32; row < count;
       row += step) {
    const OutPixel out = g.out_pixel(row);
    T* to = rows + row * stride;
    if constexpr (kAligned) {
      const int tap = at / g.channels;
      const int64_t pixel = g.pixel_under(out, tap);
      const Chunk chunk =
          pixel < 0 ? Chunk{} : load_chunk(x + pixel * g.channels + at % g.channels);
      store_chunk(to + at, chunk);
    } else {
      for (int i = at; i < at + kChunk && i < stride; ++i) {
        const int tap = i / g.channels;
        const int64_t pixel = tap < g.taps() ? g.pixel_under(out, tap) : -1;
        to[i] = pixel < 0 ? from_float<T>(0.0f) : x[pixel * g.channels + i % g.channels];
      }
    }
  }
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    sum_patches_kernel(Geometry g, int64_t pixels, int64_t stride, const T* rows, const T* before,
                       T* x) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(pixels, g.channels, [&](int64_t pixel, int at) {
    Chunk sum = {};
    if (before) sum = load_columns<kAligned>(before + pixel * g.channels, at, g.channels);
    g.for_windows(pixel, [&](int64_t row, int tap) {
      const Chunk part =
          load_columns<kAligned>(rows + row * stride + int64_t{tap} * g.channels, at, g.channels);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum.value[i] += part.value[i];
    });
    store_columns<kAligned>(x + pixel * g.channels, at, g.channels, sum);
  });
}

}  // namespace

Status patches(const Patches& shape, const void* x, void* rows, Stream stream) {
  const int64_t count = shape.images * shape.window.out_pixels();
  if (count == 0) return nullptr;
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = shape.window.channels % kChunk == 0 &&
                         shape.stride == shape.window.covered() && aligned16(x) && aligned16(rows);
    const auto across = static_cast<unsigned>(ceil_div(shape.stride, 32 * kChunk));
    const int64_t down = ceil_div(count, kRowsAtOnce);
    constexpr int64_t kMost = 132 * 32;  // rows are gone through several times from here on
    const dim3 grid(across, static_cast<unsigned>(down < kMost ? down : kMost));
    return launch_early(aligned ? patches_kernel<true, T> : patches_kernel<false, T>,
                        {grid, 32 * kRowsAtOnce}, stream, geometry_of(shape.window), count,
                        shape.stride, static_cast<const T*>(x), static_cast<T*>(rows));
  });
}

Status sum_patches(const Patches& shape, const void* rows, const void* before, void* x,
                   Stream stream) {
  const int64_t pixels = shape.images * shape.window.in_pixels();
  if (pixels == 0) return nullptr;
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = shape.window.channels % kChunk == 0 && shape.stride % kChunk == 0 &&
                         aligned16(rows) && aligned16(before) && aligned16(x);
    return launch_early(aligned ? sum_patches_kernel<true, T> : sum_patches_kernel<false, T>,
                        pixel_blocks(pixels, shape.window.channels), stream,
                        geometry_of(shape.window), pixels, shape.stride,
                        static_cast<const T*>(rows), static_cast<const T*>(before),
                        static_cast<T*>(x));
  });
}

}  // namespace hone::kernels::cuda
