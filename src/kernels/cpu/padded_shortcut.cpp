#include "kernels/cpu/padded_shortcut.h"

#include <algorithm>

#include "kernels/cpu/rows.h"
#include "tensor/dtype.h"

namespace hone::kernels {

template <typename T>
void padded_shortcut(const Window& window, int64_t images, int64_t out, const T* x, T* y,
                     ThreadPool& pool) {
  const int64_t width = window.out_width(), pixels = window.out_pixels();
  const int64_t before = (out - window.channels) / 2;
  for_row_ranges(images * pixels, out, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t place = row % pixels;
      const int64_t from =
          (row / pixels * window.height + place / width * window.stride) * window.width +
          place % width * window.stride;
      T* to = y + row * out;
      std::fill(to, to + before, T{});
      std::copy_n(x + from * window.channels, window.channels, to + before);
      std::fill(to + before + window.channels, to + out, T{});
    }
  });
}

template <typename T>
void padded_shortcut_backward(const Window& window, int64_t images, int64_t out, const T* dy, T* dx,
                              ThreadPool& pool) {
  const int64_t stride = window.stride;
  const int64_t before = (out - window.channels) / 2;
  for_row_ranges(
      images * window.in_pixels(), window.channels, pool, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t line = row / window.width, column = row % window.width;
          const int64_t image = line / window.height, down = line % window.height;
          T* to = dx + row * window.channels;
          if (down % stride != 0 || column % stride != 0) {
            std::fill(to, to + window.channels, T{});
            continue;
          }
          const int64_t from =
              (image * window.out_height() + down / stride) * window.out_width() + column / stride;
          std::copy_n(dy + from * out + before, window.channels, to);
        }
      });
}

template void padded_shortcut(const Window&, int64_t, int64_t, const float*, float*, ThreadPool&);
template void padded_shortcut(const Window&, int64_t, int64_t, const bf16*, bf16*, ThreadPool&);
template void padded_shortcut(const Window&, int64_t, int64_t, const double*, double*, ThreadPool&);
template void padded_shortcut_backward(const Window&, int64_t, int64_t, const float*, float*,
                                       ThreadPool&);
template void padded_shortcut_backward(const Window&, int64_t, int64_t, const bf16*, bf16*,
                                       ThreadPool&);
template void padded_shortcut_backward(const Window&, int64_t, int64_t, const double*, double*,
                                       ThreadPool&);

}  // namespace hone::kernels
