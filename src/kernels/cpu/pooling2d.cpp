#include "kernels/cpu/pooling2d.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

/// Channels whose sums are held at once.
constexpr int64_t kPart = 64;

struct Range {
  int64_t begin, end;
};

/// Gives the pixels that a window at place `out` covers along a line of `length`.
Range covered(const Window& window, int64_t out, int64_t length) {
  const int64_t first = out * window.stride - window.padding;
  return {std::max<int64_t>(0, first), std::min(length, first + window.kernel)};
}

/// Gives the places of windows that cover a pixel.
Range covering(const Window& window, int64_t pixel, int64_t places) {
  const int64_t last = pixel + window.padding;
  const int64_t first = last - window.kernel + 1;
  return {first <= 0 ? 0 : (first + window.stride - 1) / window.stride,
          std::min(places, last / window.stride + 1)};
}

/// Calls body(image, y, x, channels) for every pixel of `height` by `width`, some channels at a
/// time.
template <typename Body>
void each_pixel(int64_t images, int64_t height, int64_t width, int64_t channels, ThreadPool& pool,
                const Body& body) {
  for_row_ranges(images * height * width, channels, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t image = row / (height * width);
      for (int64_t c = 0; c < channels; c += kPart) {
        body(image, row / width % height, row % width, Range{c, std::min(c + kPart, channels)});
      }
    }
  });
}

template <typename T>
void store_part(const Accumulator<T>* from, const Range& part, T* row) {
  for (int64_t c = part.begin; c < part.end; ++c) store_rounded(from[c - part.begin], row[c]);
}

}  // namespace

template <typename T>
void max_pool(const Window& window, int64_t images, const T* x, T* y, uint8_t* places,
              ThreadPool& pool) {
  const int64_t height = window.out_height(), width = window.out_width();
  const auto body = [&](int64_t image, int64_t out_y, int64_t out_x, const Range& part) {
    Accumulator<T> most[kPart];
    uint8_t place[kPart] = {};
    std::fill(most, most + kPart, -std::numeric_limits<Accumulator<T>>::infinity());
    const Range down = covered(window, out_y, window.height);
    const Range across = covered(window, out_x, window.width);
    for (int64_t in_y = down.begin; in_y < down.end; ++in_y) {
      for (int64_t in_x = across.begin; in_x < across.end; ++in_x) {
        const T* row = x + ((image * window.height + in_y) * window.width + in_x) * window.channels;
        const int64_t tap = (in_y + window.padding - out_y * window.stride) * window.kernel + in_x +
                            window.padding - out_x * window.stride;
        const bool first = in_y == down.begin && in_x == across.begin;
        for (int64_t c = part.begin; c < part.end; ++c) {
          const Accumulator<T> value = to_accumulator(row[c]);
          Accumulator<T>& held = most[c - part.begin];
          if (!first && !(value > held) && !std::isnan(value)) continue;
          held = value;
          place[c - part.begin] = static_cast<uint8_t>(tap);
        }
      }
    }
    const int64_t row = (image * height + out_y) * width + out_x;
    store_part(most, part, y + row * window.channels);
    if (places) {
      std::copy(place, place + (part.end - part.begin),
                places + row * window.channels + part.begin);
    }
  };
  each_pixel(images, height, width, window.channels, pool, body);
}

template <typename T>
void max_pool_backward(const Window& window, int64_t images, const T* dy, const uint8_t* places,
                       T* dx, ThreadPool& pool) {
  const int64_t height = window.out_height(), width = window.out_width();
  const auto body = [&](int64_t image, int64_t y, int64_t x, const Range& part) {
    Accumulator<T> sums[kPart] = {};
    const Range down = covering(window, y, height), across = covering(window, x, width);
    for (int64_t out_y = down.begin; out_y < down.end; ++out_y) {
      for (int64_t out_x = across.begin; out_x < across.end; ++out_x) {
        const int64_t row = ((image * height + out_y) * width + out_x) * window.channels;
        const int64_t tap = (y + window.padding - out_y * window.stride) * window.kernel + x +
                            window.padding - out_x * window.stride;
        for (int64_t c = part.begin; c < part.end; ++c) {
          if (places[row + c] == tap) sums[c - part.begin] += to_accumulator(dy[row + c]);
        }
      }
    }
    store_part(sums, part, dx + ((image * window.height + y) * window.width + x) * window.channels);
  };
  each_pixel(images, window.height, window.width, window.channels, pool, body);
}

template <typename T>
void average_pool(const Window& window, int64_t images, const T* x, T* y, ThreadPool& pool) {
  const int64_t height = window.out_height(), width = window.out_width();
  const auto count = static_cast<Accumulator<T>>(window.kernel * window.kernel);
  const auto body = [&](int64_t image, int64_t out_y, int64_t out_x, const Range& part) {
    Accumulator<T> sums[kPart] = {};
    const Range down = covered(window, out_y, window.height);
    const Range across = covered(window, out_x, window.width);
    for (int64_t in_y = down.begin; in_y < down.end; ++in_y) {
      for (int64_t in_x = across.begin; in_x < across.end; ++in_x) {
        const T* row = x + ((image * window.height + in_y) * window.width + in_x) * window.channels;
        for (int64_t c = part.begin; c < part.end; ++c)
          sums[c - part.begin] += to_accumulator(row[c]);
      }
    }
    for (Accumulator<T>& sum : sums) sum /= count;
    store_part(sums, part, y + ((image * height + out_y) * width + out_x) * window.channels);
  };
  each_pixel(images, height, width, window.channels, pool, body);
}

template <typename T>
void average_pool_backward(const Window& window, int64_t images, const T* dy, T* dx,
                           ThreadPool& pool) {
  const int64_t height = window.out_height(), width = window.out_width();
  const auto count = static_cast<Accumulator<T>>(window.kernel * window.kernel);
  const auto body = [&](int64_t image, int64_t y, int64_t x, const Range& part) {
    Accumulator<T> sums[kPart] = {};
    const Range down = covering(window, y, height), across = covering(window, x, width);
    for (int64_t out_y = down.begin; out_y < down.end; ++out_y) {
      for (int64_t out_x = across.begin; out_x < across.end; ++out_x) {
        const T* row = dy + ((image * height + out_y) * width + out_x) * window.channels;
        for (int64_t c = part.begin; c < part.end; ++c)
          sums[c - part.begin] += to_accumulator(row[c]);
      }
    }
    for (Accumulator<T>& sum : sums) sum /= count;
    store_part(sums, part, dx + ((image * window.height + y) * window.width + x) * window.channels);
  };
  each_pixel(images, window.height, window.width, window.channels, pool, body);
}

template <typename T>
void global_average(int64_t images, int64_t pixels, int64_t channels, const T* x, T* y,
                    ThreadPool& pool) {
  each_pixel(images, 1, 1, channels, pool, [&](int64_t image, int64_t, int64_t, const Range& part) {
    Accumulator<T> sums[kPart] = {};
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      const T* row = x + (image * pixels + pixel) * channels;
      for (int64_t c = part.begin; c < part.end; ++c)
        sums[c - part.begin] += to_accumulator(row[c]);
    }
    for (Accumulator<T>& sum : sums) sum /= static_cast<Accumulator<T>>(pixels);
    store_part(sums, part, y + image * channels);
  });
}

template <typename T>
void global_average_backward(int64_t images, int64_t pixels, int64_t channels, const T* dy, T* dx,
                             ThreadPool& pool) {
  for_row_ranges(images * pixels, channels, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* from = dy + row / pixels * channels;
      for (int64_t c = 0; c < channels; ++c) {
        store_rounded(to_accumulator(from[c]) / static_cast<Accumulator<T>>(pixels),
                      dx[row * channels + c]);
      }
    }
  });
}

template void max_pool(const Window&, int64_t, const float*, float*, uint8_t*, ThreadPool&);
template void max_pool_backward(const Window&, int64_t, const float*, const uint8_t*, float*,
                                ThreadPool&);
template void average_pool(const Window&, int64_t, const float*, float*, ThreadPool&);
template void average_pool_backward(const Window&, int64_t, const float*, float*, ThreadPool&);
template void global_average(int64_t, int64_t, int64_t, const float*, float*, ThreadPool&);
template void global_average_backward(int64_t, int64_t, int64_t, const float*, float*, ThreadPool&);
template void max_pool(const Window&, int64_t, const double*, double*, uint8_t*, ThreadPool&);
template void max_pool_backward(const Window&, int64_t, const double*, const uint8_t*, double*,
                                ThreadPool&);
template void average_pool(const Window&, int64_t, const double*, double*, ThreadPool&);
template void average_pool_backward(const Window&, int64_t, const double*, double*, ThreadPool&);
template void global_average(int64_t, int64_t, int64_t, const double*, double*, ThreadPool&);
template void global_average_backward(int64_t, int64_t, int64_t, const double*, double*,
                                      ThreadPool&);
template void max_pool(const Window&, int64_t, const bf16*, bf16*, uint8_t*, ThreadPool&);
template void max_pool_backward(const Window&, int64_t, const bf16*, const uint8_t*, bf16*,
                                ThreadPool&);
template void average_pool(const Window&, int64_t, const bf16*, bf16*, ThreadPool&);
template void average_pool_backward(const Window&, int64_t, const bf16*, bf16*, ThreadPool&);
template void global_average(int64_t, int64_t, int64_t, const bf16*, bf16*, ThreadPool&);
template void global_average_backward(int64_t, int64_t, int64_t, const bf16*, bf16*, ThreadPool&);

}  // namespace hone::kernels
