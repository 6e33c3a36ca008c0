#include "kernels/cuda/pooling2d.h"

#include "kernels/cuda/geometry.cuh"

namespace hone::kernels::cuda {
namespace {

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    max_pool_kernel(Geometry g, int64_t rows, const T* x, T* y, uint8_t* places) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(rows, g.channels, [&](int64_t row, int at) {
    const OutPixel out = g.out_pixel(row);
    Chunk most = {};
    uint8_t place[kChunk] = {};
    bool first = true;
    for (int tap = 0; tap < g.taps(); ++tap) {
      const int64_t pixel = g.pixel_under(out, tap);
      if (pixel < 0) continue;
      const Chunk own = load_columns<kAligned>(x + pixel * g.channels, at, g.channels);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        // NaN is more than any number, and what came first stays.
        const bool more = !(own.value[i] <= most.value[i]) && !isnan(most.value[i]);
        if (!first && !more) continue;
        most.value[i] = own.value[i];
        place[i] = static_cast<uint8_t>(tap);
      }
      first = false;
    }
    store_columns<kAligned>(y + row * g.channels, at, g.channels, most);
    if (!places) return;
    uint8_t* to = places + row * g.channels + at;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (kAligned || at + i < g.channels) to[i] = place[i];
    }
  });
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    max_pool_backward_kernel(Geometry g, int64_t pixels, const T* dy, const uint8_t* places,
                             T* dx) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(pixels, g.channels, [&](int64_t pixel, int at) {
    Chunk sum = {};
    g.for_windows(pixel, [&](int64_t row, int tap) {
      const Chunk own = load_columns<kAligned>(dy + row * g.channels, at, g.channels);
      const uint8_t* place = places + row * g.channels + at;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        const bool there = kAligned || at + i < g.channels;
        if (there && place[i] == tap) sum.value[i] += own.value[i];
      }
    });
    store_columns<kAligned>(dx + pixel * g.channels, at, g.channels, sum);
  });
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    average_pool_kernel(Geometry g, int64_t rows, const T* x, T* y) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(rows, g.channels, [&](int64_t row, int at) {
    const OutPixel out = g.out_pixel(row);
    Chunk sum = {};
    for (int tap = 0; tap < g.taps(); ++tap) {
      const int64_t pixel = g.pixel_under(out, tap);
      if (pixel < 0) continue;
      const Chunk own = load_columns<kAligned>(x + pixel * g.channels, at, g.channels);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum.value[i] += own.value[i];
    }
    const float share = 1.0f / static_cast<float>(g.taps());
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum.value[i] *= share;
    store_columns<kAligned>(y + row * g.channels, at, g.channels, sum);
  });
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    average_pool_backward_kernel(Geometry g, int64_t pixels, const T* dy, T* dx) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(pixels, g.channels, [&](int64_t pixel, int at) {
    Chunk sum = {};
    g.for_windows(pixel, [&](int64_t row, int) {
      const Chunk own = load_columns<kAligned>(dy + row * g.channels, at, g.channels);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum.value[i] += own.value[i];
    });
    const float share = 1.0f / static_cast<float>(g.taps());
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum.value[i] *= share;
    store_columns<kAligned>(dx + pixel * g.channels, at, g.channels, sum);
  });
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    global_average_kernel(int64_t images, int64_t pixels, int channels, const T* x, T* y) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(images, channels, [&](int64_t image, int at) {
    Chunk sum = {};
    const T* from = x + image * pixels * channels;
#pragma unroll 4
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const Chunk own = load_columns<kAligned>(from + pixel * channels, at, channels);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) sum.value[i] += own.value[i];
    }
    const float share = 1.0f / static_cast<float>(pixels);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) sum.value[i] *= share;
    store_columns<kAligned>(y + image * channels, at, channels, sum);
  });
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kPixelThreads)
    global_average_backward_kernel(int64_t rows, int64_t pixels, int channels, const T* dy, T* dx) {
  let_next_kernel_start();
  wait_for_kernel_before();
  for_pixel_chunks(rows, channels, [&](int64_t row, int at) {
    Chunk own = load_columns<kAligned>(dy + quotient(row, static_cast<int>(pixels)) * channels, at,
                                       channels);
    const float share = 1.0f / static_cast<float>(pixels);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) own.value[i] *= share;
    store_columns<kAligned>(dx + row * channels, at, channels, own);
  });
}

bool aligned(int64_t channels, const void* a, const void* b) {
  return channels % kChunk == 0 && aligned16(a) && aligned16(b);
}

/// Calls body with the type of the elements, and with whether chunks are whole and aligned.
template <typename Body>
Status by_form(DType dtype, int64_t channels, const void* a, const void* b, const Body& body) {
  return by_dtype(dtype, [&](auto* type) {
    return aligned(channels, a, b) ? body(type, std::true_type{}) : body(type, std::false_type{});
  });
}

}  // namespace

Status max_pool(const Pool& pool, const void* x, void* y, uint8_t* places, Stream stream) {
  const Window& w = pool.window;
  const int64_t rows = pool.images * w.out_pixels();
  if (rows == 0) return nullptr;
  return by_form(pool.dtype, w.channels, x, y, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(max_pool_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(rows, w.channels), stream, geometry_of(w), rows,
                        static_cast<const T*>(x), static_cast<T*>(y), places);
  });
}

Status max_pool_backward(const Pool& pool, const void* dy, const uint8_t* places, void* dx,
                         Stream stream) {
  const Window& w = pool.window;
  const int64_t pixels = pool.images * w.in_pixels();
  if (pixels == 0) return nullptr;
  return by_form(pool.dtype, w.channels, dy, dx, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(max_pool_backward_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(pixels, w.channels), stream, geometry_of(w), pixels,
                        static_cast<const T*>(dy), places, static_cast<T*>(dx));
  });
}

Status average_pool(const Pool& pool, const void* x, void* y, Stream stream) {
  const Window& w = pool.window;
  const int64_t rows = pool.images * w.out_pixels();
  if (rows == 0) return nullptr;
  return by_form(pool.dtype, w.channels, x, y, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(average_pool_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(rows, w.channels), stream, geometry_of(w), rows,
                        static_cast<const T*>(x), static_cast<T*>(y));
  });
}

Status average_pool_backward(const Pool& pool, const void* dy, void* dx, Stream stream) {
  const Window& w = pool.window;
  const int64_t pixels = pool.images * w.in_pixels();
  if (pixels == 0) return nullptr;
  return by_form(pool.dtype, w.channels, dy, dx, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(average_pool_backward_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(pixels, w.channels), stream, geometry_of(w), pixels,
                        static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

Status global_average(DType dtype, int64_t images, int64_t pixels, int64_t channels, const void* x,
                      void* y, Stream stream) {
  if (images == 0) return nullptr;
  return by_form(dtype, channels, x, y, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(global_average_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(images, channels), stream, images, pixels,
                        static_cast<int>(channels), static_cast<const T*>(x), static_cast<T*>(y));
  });
}

Status global_average_backward(DType dtype, int64_t images, int64_t pixels, int64_t channels,
                               const void* dy, void* dx, Stream stream) {
  const int64_t rows = images * pixels;
  if (rows == 0) return nullptr;
  return by_form(dtype, channels, dy, dx, [&](auto* type, auto aligned) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(global_average_backward_kernel<decltype(aligned)::value, T>,
                        pixel_blocks(rows, channels), stream, rows, pixels,
                        static_cast<int>(channels), static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace hone::kernels::cuda
