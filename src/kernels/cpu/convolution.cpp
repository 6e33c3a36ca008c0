#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/gemm_kernel.h"
#include "kernels/cpu/rows.h"

namespace hone::kernels {
namespace {

/// Along one direction, the pixels first, first + stride, ... of the input, which the same taps of
/// the window reach.
struct Line {
  int64_t pixels;  ///< the input has so many of them
  int64_t taps;    ///< so many of the window reach them
  int64_t tap;     ///< the first such tap; the others follow by the stride
  int64_t begin;   ///< the pixel of dy that the last tap brings to the first pixel

  Line(const Window& window, int64_t length, int64_t first) {
    pixels = (length - first + window.stride - 1) / window.stride;
    tap = (first + window.padding) % window.stride;
    taps = std::max<int64_t>(0, (window.kernel - tap + window.stride - 1) / window.stride);
    begin = (first + window.padding - tap) / window.stride - (taps - 1);
  }
  /// Gives the tap that meets the `i`th pixel of a patch of dy.
  int64_t tap_at(int64_t i, int64_t stride) const { return tap + stride * (taps - 1 - i); }
};

/// The pixels (first_y, first_x) + multiples of the stride: one product.
struct Phase {
  const ConvolutionGradientArgs& args;
  int64_t first_y, first_x;
  Line down, across;

  Phase(const ConvolutionGradientArgs& of, int64_t y, int64_t x)
      : args(of),
        first_y(y),
        first_x(x),
        down(of.window, of.window.height, y),
        across(of.window, of.window.width, x) {}

  int64_t rows() const { return args.images * down.pixels * across.pixels; }
  int64_t depth() const { return down.taps * across.taps * args.w->n; }
  bool covers_all() const { return args.window.stride == 1; }
  PackedMatrix weight(const void* data) const {
    return {args.w->dtype, args.w->isa, args.window.channels, depth(), data};
  }
  Patches patches() const {
    return {.height = args.window.out_height(),
            .width = args.window.out_width(),
            .channels = args.w->n,
            .grid_height = down.pixels,
            .grid_width = across.pixels,
            .step = 1,
            .top = down.begin,
            .left = across.begin,
            .taps_y = down.taps,
            .taps_x = across.taps};
  }
  GemmArgs product(const PackedMatrix& b, const Patches& rows_of_dy, void* c) const {
    GemmArgs gemm;
    gemm.m = rows();
    gemm.a = args.dy;
    gemm.a_dtype = b.dtype;
    gemm.patches = &rows_of_dy;
    gemm.b = &b;
    gemm.c = c;
    gemm.c_dtype = b.dtype;
    gemm.ldc = args.window.channels;
    if (covers_all()) {
      gemm.residual = args.add;
      gemm.residual_dtype = b.dtype;
      gemm.ldr = args.window.channels;
    }
    return gemm;
  }
};

/// Where the parts of the workspace begin; the phase's weight is the first.
struct Scratch {
  size_t pixels;  ///< a phase's pixels of dx
  size_t gemm;    ///< the product's own
};

size_t aligned(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

Scratch scratch_of(const Phase& phase) {
  const PackedMatrix b = phase.weight(nullptr);
  const size_t pixels = aligned(packed_bytes(b.isa, b.dtype, b.n, b.k));
  if (phase.covers_all()) return {pixels, pixels};
  const auto elements = static_cast<size_t>(phase.rows() * phase.args.window.channels);
  return {pixels, pixels + aligned(elements * dtype_size(b.dtype))};
}

/// Gives the place of an element in a packed matrix: `group` of k stand side by side.
template <int64_t group>
int64_t place(int64_t row, int64_t k, int64_t width, int64_t depth) {
  return row / width * width * depth + (k / group * width + row % width) * group + k % group;
}

/// Writes the weight of a phase's product: [channels, taps of dy, n], packed.
template <typename T, int64_t group>
void transpose_weight(const Phase& phase, T* out, ThreadPool& pool) {
  const PackedMatrix& w = *phase.args.w;
  const Window& window = phase.args.window;
  const auto* in = static_cast<const T*>(w.data);
  const int64_t width = panel_rows(w.isa);
  const int64_t depth = packed_depth(w.dtype, w.k);
  const int64_t out_depth = packed_depth(w.dtype, phase.depth());
  pool.run(ceil_div(window.channels, width), [&](int64_t panel, int) {
    const int64_t first = panel * width, end = std::min(first + width, window.channels);
    std::memset(out + first * out_depth, 0, static_cast<size_t>(width * out_depth) * sizeof(T));
    for (int64_t y = 0, k = 0; y < phase.down.taps; ++y) {
      for (int64_t x = 0; x < phase.across.taps; ++x) {
        const int64_t tap = phase.down.tap_at(y, window.stride) * window.kernel +
                            phase.across.tap_at(x, window.stride);
        for (int64_t n = 0; n < w.n; ++n, ++k) {
          for (int64_t c = first; c < end; ++c) {
            out[place<group>(c, k, width, out_depth)] =
                in[place<group>(n, tap * window.channels + c, width, depth)];
          }
        }
      }
    }
  });
}

void transpose_weight(const Phase& phase, void* out, ThreadPool& pool) {
  switch (phase.args.w->dtype) {
    case DType::f64:
      return transpose_weight<double, 1>(phase, static_cast<double*>(out), pool);
    case DType::bf16:
      return transpose_weight<uint16_t, 2>(phase, static_cast<uint16_t*>(out), pool);
    default:
      return transpose_weight<float, 1>(phase, static_cast<float*>(out), pool);
  }
}

/// Brings a phase's pixels to their places in dx, and adds what there was.
template <typename T>
void spread(const Phase& phase, const T* pixels, ThreadPool& pool) {
  const ConvolutionGradientArgs& args = phase.args;
  const Window& window = args.window;
  const auto* add = static_cast<const T*>(args.add);
  auto* dx = static_cast<T*>(args.dx);
  const int64_t grid = phase.down.pixels * phase.across.pixels;
  for_row_ranges(phase.rows(), window.channels, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t y = phase.first_y + row % grid / phase.across.pixels * window.stride;
      const int64_t x = phase.first_x + row % phase.across.pixels * window.stride;
      const int64_t at = ((row / grid * window.height + y) * window.width + x) * window.channels;
      const T* from = pixels + row * window.channels;
      for (int64_t c = 0; c < window.channels; ++c) {
        Accumulator<T> sum = to_accumulator(from[c]);
        if (add) sum += to_accumulator(add[at + c]);
        store_rounded(sum, dx[at + c]);
      }
    }
  });
}

void run(const Phase& phase, std::byte* workspace, ThreadPool& pool) {
  if (phase.rows() == 0) return;
  const Scratch at = scratch_of(phase);
  const DType dtype = phase.args.w->dtype;
  const PackedMatrix b = phase.weight(workspace);
  const Patches patches = phase.patches();
  void* c = phase.covers_all() ? phase.args.dx : workspace + at.pixels;
  if (phase.depth() > 0) {
    transpose_weight(phase, workspace, pool);
    gemm(phase.product(b, patches, c), workspace + at.gemm, pool);
  } else {
    std::memset(c, 0, static_cast<size_t>(phase.rows() * b.n) * dtype_size(dtype));
  }
  if (phase.covers_all()) return;
  if (dtype == DType::f64) return spread(phase, static_cast<const double*>(c), pool);
  if (dtype == DType::bf16) return spread(phase, static_cast<const bf16*>(c), pool);
  spread(phase, static_cast<const float*>(c), pool);
}

/// Calls body with each phase.
template <typename Body>
void each_phase(const ConvolutionGradientArgs& args, const Body& body) {
  for (int64_t y = 0; y < std::min(args.window.stride, args.window.height); ++y) {
    for (int64_t x = 0; x < std::min(args.window.stride, args.window.width); ++x) {
      body(Phase(args, y, x));
    }
  }
}

}  // namespace

size_t convolution_gradient_workspace(const ConvolutionGradientArgs& args, int threads) {
  size_t most = 0;
  each_phase(args, [&](const Phase& phase) {
    const PackedMatrix b = phase.weight(nullptr);
    const Patches patches = phase.patches();
    const size_t product =
        phase.depth() > 0 ? gemm_workspace(phase.product(b, patches, nullptr), threads) : 0;
    most = std::max(most, scratch_of(phase).gemm + product);
  });
  return most;
}

void convolution_gradient(const ConvolutionGradientArgs& args, void* workspace, ThreadPool& pool) {
  each_phase(args,
             [&](const Phase& phase) { run(phase, static_cast<std::byte*>(workspace), pool); });
}

}  // namespace hone::kernels
