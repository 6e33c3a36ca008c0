// Kernels over images: patches, convolutions, norms, pooling, pixels.

#include <cmath>
#include <vector>

#include "emulated/numbers.h"
#include "emulated/queue.h"
#include "kernels/cuda/api.h"

namespace hone::kernels::cuda {

using emulated::load;
using emulated::load_all;
using emulated::store;
using emulated::submit;

namespace {

/// Calls body(row of the outputs, tap, pixel) for all pixels under the windows of `images`.
template <typename Body>
void for_taps(const Window& w, int64_t images, const Body& body) {
  for (int64_t row = 0; row < images * w.out_pixels(); ++row) {
    const int64_t image = row / w.out_pixels(), place = row % w.out_pixels();
    for (int64_t tap = 0; tap < w.kernel * w.kernel; ++tap) {
      const int64_t y = place / w.out_width() * w.stride - w.padding + tap / w.kernel;
      const int64_t x = place % w.out_width() * w.stride - w.padding + tap % w.kernel;
      if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
      body(row, tap, (image * w.height + y) * w.width + x);
    }
  }
}

void set(DType dtype, void* to, const std::vector<double>& values) {
  for (size_t i = 0; i < values.size(); ++i) store(dtype, to, static_cast<int64_t>(i), values[i]);
}
std::vector<double> zeros(int64_t count) { return std::vector<double>(static_cast<size_t>(count)); }

/// Calls body(element of x, of the weight, of y) for all that a convolution multiplies.
template <typename Body>
void for_products(const Convolution& a, const Body& body) {
  const int64_t channels = a.window.channels, covered = a.window.covered();
  for_taps(a.window, a.images, [&](int64_t row, int64_t tap, int64_t pixel) {
    for (int64_t out = 0; out < a.out; ++out) {
      for (int64_t c = 0; c < channels; ++c) {
        body(static_cast<size_t>(pixel * channels + c),
             static_cast<size_t>(out * covered + tap * channels + c),
             static_cast<size_t>(row * a.out + out));
      }
    }
  });
}

/// The real kernel wants whole tiles of 64 channels: small models would never come to this one.
bool fits(const Convolution& c, int64_t in, int64_t out) {
  return c.dtype != DType::f32 && in % 8 == 0 && out % 8 == 0;
}

struct Channel {
  double mean, rstd;
};

Channel statistics_of(const BatchNorm& a, int64_t c) {
  if (a.statistics != NormStatistics::batch) {
    return {a.running_mean[c], 1 / std::sqrt(double{a.running_variance[c]} + a.eps)};
  }
  const auto count = static_cast<double>(a.rows);
  double sum = 0, squares = 0;
  for (int64_t row = 0; row < a.rows; ++row) sum += load(a.dtype, a.x, row * a.width + c);
  const double mean = sum / count;
  for (int64_t row = 0; row < a.rows; ++row) {
    const double off = load(a.dtype, a.x, row * a.width + c) - mean;
    squares += off * off;
  }
  const auto blend = [&](float& running, double value) {
    running = static_cast<float>((1 - a.momentum) * running + a.momentum * value);
  };
  blend(a.running_mean[c], mean);
  blend(a.running_variance[c], a.rows > 1 ? squares / (count - 1) : squares);
  return {mean, 1 / std::sqrt(squares / count + a.eps)};
}

void normalize_channel(const BatchNorm& a, int64_t c) {
  const Channel own = statistics_of(a, c);
  if (a.statistics != NormStatistics::running) {
    a.mean[c] = static_cast<float>(own.mean);
    a.rstd[c] = static_cast<float>(own.rstd);
  }
  for (int64_t at = c; at < a.rows * a.width; at += a.width) {
    double value = (load(a.dtype, a.x, at) - own.mean) * own.rstd * a.weight[c] + a.bias[c];
    if (a.residual) value += load(a.dtype, a.residual, at);
    store(a.dtype, a.y, at, a.relu && value < 0 ? 0 : value);
  }
}

void lead_channel_back(const BatchNormBackward& a, int64_t c) {
  const auto xhat = [&](int64_t at) {
    return (double{load(a.dtype, a.x, at)} - a.mean[c]) * a.rstd[c];
  };
  const auto gradient = [&](int64_t at) {
    const double y = a.y ? load(a.dtype, a.y, at) : xhat(at) * a.weight[c] + a.bias[c];
    return a.relu && y <= 0 ? 0.0 : double{load(a.dtype, a.dy, at)};
  };
  double sum = 0, dots = 0;
  for (int64_t at = c; at < a.rows * a.width; at += a.width) {
    const double g = gradient(at);
    sum += g;
    dots += g * xhat(at);
  }
  if (a.dbias) a.dbias[c] += static_cast<float>(sum);
  if (a.dweight) a.dweight[c] += static_cast<float>(dots);
  const auto count = static_cast<double>(a.rows);
  const double mean = a.frozen ? 0 : sum / count, slope = a.frozen ? 0 : dots / count;
  for (int64_t at = c; at < a.rows * a.width; at += a.width) {
    const double g = gradient(at);
    const double value = (g - mean - xhat(at) * slope) * a.weight[c] * a.rstd[c];
    if (a.dsum) store(a.dtype, a.dsum, at, g);
    store(a.dtype, a.dx, at, value);
  }
}

}  // namespace

Status patches(const Patches& shape, const void* x, void* rows, Stream stream) {
  return submit(stream, [=] {
    const Window& w = shape.window;
    for (int64_t i = 0; i < shape.images * w.out_pixels() * shape.stride; ++i) {
      store(shape.dtype, rows, i, 0);
    }
    for_taps(w, shape.images, [&](int64_t row, int64_t tap, int64_t pixel) {
      for (int64_t c = 0; c < w.channels; ++c) {
        store(shape.dtype, rows, row * shape.stride + tap * w.channels + c,
              load(shape.dtype, x, pixel * w.channels + c));
      }
    });
  });
}
Status sum_patches(const Patches& shape, const void* rows, const void* before, void* x,
                   Stream stream) {
  return submit(stream, [=] {
    const Window& w = shape.window;
    std::vector<double> sums = zeros(shape.images * w.in_pixels() * w.channels);
    for (size_t i = 0; before && i < sums.size(); ++i) {
      sums[i] = load(shape.dtype, before, static_cast<int64_t>(i));
    }
    for_taps(w, shape.images, [&](int64_t row, int64_t tap, int64_t pixel) {
      for (int64_t c = 0; c < w.channels; ++c) {
        sums[static_cast<size_t>(pixel * w.channels + c)] +=
            load(shape.dtype, rows, row * shape.stride + tap * w.channels + c);
      }
    });
    set(shape.dtype, x, sums);
  });
}

bool convolution_fits(const Convolution& args) {
  return fits(args, args.window.channels, args.out);
}
Status convolution(const Convolution& a, Stream stream) {
  return submit(stream, [=] {
    const Window& w = a.window;
    std::vector<double> sums = zeros(a.images * w.out_pixels() * a.out);
    for (size_t i = 0; a.bias && i < sums.size(); ++i) {
      sums[i] = a.bias[static_cast<int64_t>(i) % a.out];
    }
    const auto x = load_all(a.dtype, a.x, a.images * w.in_pixels() * w.channels);
    const auto weight = load_all(a.dtype, a.weight, a.out * w.covered());
    for_products(a, [&](size_t in, size_t of_weight, size_t out) {
      sums[out] += double{x[in]} * weight[of_weight];
    });
    for (double& sum : sums) sum = a.relu && sum < 0 ? 0 : sum;
    set(a.dtype, a.y, sums);
  });
}
bool convolution_gradient_fits(const Convolution& args) {
  return args.window.stride == 1 && fits(args, args.out, args.window.channels);
}
Status convolution_gradient(const Convolution& a, const void* dy, void* dx, Stream stream) {
  return submit(stream, [=] {
    const Window& w = a.window;
    std::vector<double> sums = zeros(a.images * w.in_pixels() * w.channels);
    const auto slopes = load_all(a.dtype, dy, a.images * w.out_pixels() * a.out);
    const auto weight = load_all(a.dtype, a.weight, a.out * w.covered());
    for_products(a, [&](size_t in, size_t of_weight, size_t out) {
      sums[in] += double{slopes[out]} * weight[of_weight];
    });
    set(a.dtype, dx, sums);
  });
}
bool convolution_weight_gradient_fits(const Convolution& args) {
  return args.images > 0 && fits(args, args.window.channels, args.out);
}
size_t convolution_weight_gradient_workspace(const Convolution&) { return sizeof(float); }
Status convolution_weight_gradient(const Convolution& a, const void* dy, bool add, float* dw, void*,
                                   Stream stream) {
  return submit(stream, [=] {
    const Window& w = a.window;
    std::vector<double> sums = zeros(a.out * w.covered());
    const auto x = load_all(a.dtype, a.x, a.images * w.in_pixels() * w.channels);
    const auto slopes = load_all(a.dtype, dy, a.images * w.out_pixels() * a.out);
    for_products(a, [&](size_t in, size_t of_weight, size_t out) {
      sums[of_weight] += double{slopes[out]} * x[in];
    });
    for (size_t i = 0; i < sums.size(); ++i)
      dw[i] = static_cast<float>((add ? dw[i] : 0) + sums[i]);
  });
}

Status batch_norm(const BatchNorm& args, void*, Stream stream) {
  return submit(stream, [=] {
    for (int64_t c = 0; args.rows > 0 && c < args.width; ++c) normalize_channel(args, c);
  });
}
Status batch_norm_backward(const BatchNormBackward& args, void*, Stream stream) {
  return submit(stream, [=] {
    for (int64_t c = 0; args.rows > 0 && c < args.width; ++c) lead_channel_back(args, c);
  });
}
size_t batch_norm_workspace(int64_t, int64_t) { return sizeof(float); }

Status max_pool(const Pool& pool, const void* x, void* y, uint8_t* places, Stream stream) {
  return submit(stream, [=] {
    const int64_t channels = pool.window.channels;
    std::vector<bool> seen(static_cast<size_t>(pool.images * pool.window.out_pixels() * channels));
    for_taps(pool.window, pool.images, [&](int64_t row, int64_t tap, int64_t pixel) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = row * channels + c;
        const float value = load(pool.dtype, x, pixel * channels + c);
        if (seen[static_cast<size_t>(at)] && value <= load(pool.dtype, y, at)) continue;
        seen[static_cast<size_t>(at)] = true;
        store(pool.dtype, y, at, value);
        if (places) places[at] = static_cast<uint8_t>(tap);
      }
    });
  });
}
Status max_pool_backward(const Pool& pool, const void* dy, const uint8_t* places, void* dx,
                         Stream stream) {
  return submit(stream, [=] {
    const int64_t channels = pool.window.channels;
    std::vector<double> sums = zeros(pool.images * pool.window.in_pixels() * channels);
    for_taps(pool.window, pool.images, [&](int64_t row, int64_t tap, int64_t pixel) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t at = row * channels + c;
        if (places[at] != tap) continue;
        sums[static_cast<size_t>(pixel * channels + c)] += load(pool.dtype, dy, at);
      }
    });
    set(pool.dtype, dx, sums);
  });
}
Status average_pool(const Pool& pool, const void* x, void* y, Stream stream) {
  return submit(stream, [=] {
    const Window& w = pool.window;
    std::vector<double> sums = zeros(pool.images * w.out_pixels() * w.channels);
    for_taps(w, pool.images, [&](int64_t row, int64_t, int64_t pixel) {
      for (int64_t c = 0; c < w.channels; ++c) {
        sums[static_cast<size_t>(row * w.channels + c)] +=
            load(pool.dtype, x, pixel * w.channels + c) / static_cast<double>(w.kernel * w.kernel);
      }
    });
    set(pool.dtype, y, sums);
  });
}
Status average_pool_backward(const Pool& pool, const void* dy, void* dx, Stream stream) {
  return submit(stream, [=] {
    const Window& w = pool.window;
    std::vector<double> sums = zeros(pool.images * w.in_pixels() * w.channels);
    for_taps(w, pool.images, [&](int64_t row, int64_t, int64_t pixel) {
      for (int64_t c = 0; c < w.channels; ++c) {
        sums[static_cast<size_t>(pixel * w.channels + c)] +=
            load(pool.dtype, dy, row * w.channels + c) / static_cast<double>(w.kernel * w.kernel);
      }
    });
    set(pool.dtype, dx, sums);
  });
}

Status global_average(DType dtype, int64_t images, int64_t pixels, int64_t channels, const void* x,
                      void* y, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < images * channels; ++i) {
      double sum = 0;
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        sum += load(dtype, x, (i / channels * pixels + pixel) * channels + i % channels);
      }
      store(dtype, y, i, sum / static_cast<double>(pixels));
    }
  });
}
Status global_average_backward(DType dtype, int64_t images, int64_t pixels, int64_t channels,
                               const void* dy, void* dx, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < images * pixels * channels; ++i) {
      const int64_t at = i / channels / pixels * channels + i % channels;
      store(dtype, dx, i, load(dtype, dy, at) / static_cast<double>(pixels));
    }
  });
}

Status padded_shortcut(const PaddedShortcut& a, const void* x, void* y, Stream stream) {
  return submit(stream, [=] {
    const int64_t first = (a.out - a.window.channels) / 2;
    set(a.dtype, y, zeros(a.images * a.window.out_pixels() * a.out));
    for_taps(a.window, a.images, [&](int64_t row, int64_t, int64_t pixel) {
      for (int64_t c = 0; c < a.window.channels; ++c) {
        store(a.dtype, y, row * a.out + first + c, load(a.dtype, x, pixel * a.window.channels + c));
      }
    });
  });
}
Status padded_shortcut_backward(const PaddedShortcut& a, const void* dy, void* dx, Stream stream) {
  return submit(stream, [=] {
    const int64_t first = (a.out - a.window.channels) / 2;
    set(a.dtype, dx, zeros(a.images * a.window.in_pixels() * a.window.channels));
    for_taps(a.window, a.images, [&](int64_t row, int64_t, int64_t pixel) {
      for (int64_t c = 0; c < a.window.channels; ++c) {
        store(a.dtype, dx, pixel * a.window.channels + c,
              load(a.dtype, dy, row * a.out + first + c));
      }
    });
  });
}

Status pixels(DType dtype, const uint8_t* bytes, const float* levels, int64_t rows,
              int64_t channels, int64_t image_pixels, void* y, Stream stream) {
  return submit(stream, [=] {
    for (int64_t i = 0; i < rows * channels; ++i) {
      const float* own = levels + i / channels / image_pixels * 2 * channels + i % channels;
      store(dtype, y, i, static_cast<float>(bytes[i]) * own[0] + own[channels]);
    }
  });
}

}  // namespace hone::kernels::cuda
