#include "kernels/cuda/padded_shortcut.h"

#include "kernels/cuda/geometry.cuh"

namespace hone::kernels::cuda {
namespace {

template <typename T>
__global__ void __launch_bounds__(kPixelThreads)
    padded_shortcut_kernel(Geometry g, int64_t count, int out, const T* x, T* y) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int64_t index = int64_t{blockIdx.x} * kPixelThreads + threadIdx.x;
  if (index >= count) return;
  const int64_t row = quotient(index, out);
  const int channel = static_cast<int>(index - row * out) - (out - g.channels) / 2;
  const bool there = channel >= 0 && channel < g.channels;
  y[index] =
      there ? x[g.pixel_under(g.out_pixel(row), 0) * g.channels + channel] : from_float<T>(0.0f);
}

template <typename T>
__global__ void __launch_bounds__(kPixelThreads)
    padded_shortcut_backward_kernel(Geometry g, int64_t count, int out, const T* dy, T* dx) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int64_t index = int64_t{blockIdx.x} * kPixelThreads + threadIdx.x;
  if (index >= count) return;
  const int64_t pixel = quotient(index, g.channels);
  const int channel = static_cast<int>(index - pixel * g.channels) + (out - g.channels) / 2;
  T own = from_float<T>(0.0f);
  g.for_windows(pixel, [&](int64_t row, int) { own = dy[row * out + channel]; });
  dx[index] = own;
}

LaunchShape element_blocks(int64_t count) {
  return {dim3(static_cast<unsigned>(ceil_div(count, kPixelThreads))), kPixelThreads};
}

}  // namespace

Status padded_shortcut(const PaddedShortcut& args, const void* x, void* y, Stream stream) {
  const int64_t count = args.images * args.window.out_pixels() * args.out;
  if (count == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(padded_shortcut_kernel<T>, element_blocks(count), stream,
                        geometry_of(args.window), count, static_cast<int>(args.out),
                        static_cast<const T*>(x), static_cast<T*>(y));
  });
}

Status padded_shortcut_backward(const PaddedShortcut& args, const void* dy, void* dx,
                                Stream stream) {
  const int64_t count = args.images * args.window.in_pixels() * args.window.channels;
  if (count == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(padded_shortcut_backward_kernel<T>, element_blocks(count), stream,
                        geometry_of(args.window), count, static_cast<int>(args.out),
                        static_cast<const T*>(dy), static_cast<T*>(dx));
  });
}

}  // namespace hone::kernels::cuda
