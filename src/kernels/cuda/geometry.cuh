#pragma once

#include "kernels/cpu/window.h"
#include "kernels/cuda/early_launch.cuh"

/// Where windows lie on images, for kernels that go over pixels: a thread has a chunk of channels
/// of one pixel at a time.
namespace hone::kernels::cuda {

/// Gives a / b. Division of 64 bits takes several times as long, and few numbers need them.
__device__ __forceinline__ int64_t quotient(int64_t a, int b) {
  return a >> 31 == 0 ? static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b))
                      : a / b;
}

/// A pixel of an output, and where its window begins in the image; that may be outside.
struct OutPixel {
  int64_t image;
  int y, x;
};

struct Geometry {
  int height, width, channels, kernel, stride, padding, out_height, out_width;

  __device__ __forceinline__ int taps() const { return kernel * kernel; }
  __device__ __forceinline__ OutPixel out_pixel(int64_t row) const {
    const int grid = out_height * out_width;
    const int64_t image = quotient(row, grid);
    const int place = static_cast<int>(row - image * grid);
    const int y = place / out_width;
    return {image, y * stride - padding, (place - y * out_width) * stride - padding};
  }
  /// Gives the row of the pixel under a window's tap; -1: it lies outside of the image.
  __device__ __forceinline__ int64_t pixel_under(const OutPixel& out, int tap) const {
    const int down = tap / kernel;
    const int y = out.y + down, x = out.x + tap - down * kernel;
    if (y < 0 || y >= height || x < 0 || x >= width) return -1;
    return (out.image * height + y) * width + x;
  }
  /// Calls body(row, tap) for all windows that cover a pixel, by taps: `row` is the window's place
  /// among the outputs.
  template <typename Body>
  __device__ __forceinline__ void for_windows(int64_t pixel, const Body& body) const {
    const int64_t image = quotient(pixel, height * width);
    const int place = static_cast<int>(pixel - image * height * width);
    const int y = place / width + padding, x = place % width + padding;
    for (int down = 0; down < kernel; ++down) {
      const int out_y = (y - down) / stride;
      if (y < down || out_y * stride != y - down || out_y >= out_height) continue;
      for (int across = 0; across < kernel; ++across) {
        const int out_x = (x - across) / stride;
        if (x < across || out_x * stride != x - across || out_x >= out_width) continue;
        body((image * out_height + out_y) * out_width + out_x, down * kernel + across);
      }
    }
  }
};

inline Geometry geometry_of(const Window& w) {
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  return {narrow(w.height), narrow(w.width),   narrow(w.channels),     narrow(w.kernel),
          narrow(w.stride), narrow(w.padding), narrow(w.out_height()), narrow(w.out_width())};
}

constexpr int kPixelThreads = 256;

/// Calls body(pixel, first channel) for all chunks of channels of all pixels.
template <typename Body>
__device__ __forceinline__ void for_pixel_chunks(int64_t pixels, int channels, const Body& body) {
  const int chunks = (channels + kChunk - 1) / kChunk;
  const int64_t index = int64_t{blockIdx.x} * kPixelThreads + threadIdx.x;
  const int64_t pixel = quotient(index, chunks);
  if (pixel < pixels) body(pixel, static_cast<int>(index - pixel * chunks) * kChunk);
}
inline LaunchShape pixel_blocks(int64_t pixels, int64_t channels) {
  const int64_t blocks = ceil_div(pixels * ceil_div(channels, kChunk), kPixelThreads);
  return {dim3(static_cast<unsigned>(blocks)), kPixelThreads};
}

}  // namespace hone::kernels::cuda
