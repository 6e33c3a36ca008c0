#pragma once

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/norm.cuh"

/// The forward norm over rows of any source: a layer norm's sum or an embedding's.
namespace hone::kernels::cuda {

/// Up to this many rows get a block each: what counts is how long one takes.
constexpr int64_t kFewRows = 128;

template <typename T>
struct NormOutputs {
  const float* weight;
  const float* affine_bias;
  float eps;
  Dropout output_dropout;
  T* xhat;
  float* rstd;
  T* y;
  uint8_t* bytes;
  float* scales;

  struct Affine {
    Chunk weight, bias;
  };
  template <bool kAligned>
  __device__ __forceinline__ Affine affine(int at, int width) const {
    return {load_columns<kAligned>(weight, at, width),
            load_columns<kAligned>(affine_bias, at, width)};
  }
};

/// A Source gives the rows s that are normalised: fetch_ahead() loads what no earlier kernel
/// writes, before the kernel waits for the one ahead where kAhead; fetch() loads the rest for all
/// chunks of a row before sum() looks at any.
template <typename Layout, typename Source, typename T>
__global__ void __launch_bounds__(kNormWarps * 32)
    norm_kernel(Source source, NormOutputs<T> out, int64_t rows, int width) {
  constexpr bool kAligned = Layout::kAligned;
  constexpr bool kAffineAhead =
      Source::kAhead && Layout::kChunks == 1;  // there are registers for it
  const int64_t own_row = int64_t{blockIdx.x} * Layout::kRows + Layout::row();
  const bool there = own_row < rows;
  const int64_t row = there ? own_row : rows - 1;
  typename Source::Parts parts[Layout::kChunks];
  typename NormOutputs<T>::Affine affine;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::readable(Layout::column(i), width);
    source.template fetch_ahead<kAligned>(parts[i], at, width);
    if constexpr (kAffineAhead) affine = out.template affine<kAligned>(at, width);
  }
  if constexpr (Source::kAhead) let_next_kernel_start();
  wait_for_kernel_before();
  if constexpr (!Source::kAhead) let_next_kernel_start();
  const Dropper drop(source.dropout), output_drop(out.output_dropout);
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::readable(Layout::column(i), width);
    source.template fetch<kAligned>(parts[i], row, at, width);
  }
  Chunk s[Layout::kChunks];
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    s[i] = source.sum(parts[i], drop, row, at);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      if (kAligned ? at < width : at + j < width) sum += s[i].value[j];
    }
  }
  const float inverse = 1.0f / static_cast<float>(width);
  const float mean = Layout::row_sums(sum, 0.0f).x * inverse;
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s[i].value[j] -= mean;
      if (kAligned ? at < width : at + j < width) squares += s[i].value[j] * s[i].value[j];
    }
  }
  const float rstd = rsqrtf(Layout::row_sums(squares, 0.0f).x * inverse + out.eps);
  if (there && out.rstd && Layout::column(0) == 0) out.rstd[row] = rstd;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (!there || at >= width) continue;
    if constexpr (!kAffineAhead) affine = out.template affine<kAligned>(at, width);
    Chunk y;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s[i].value[j] *= rstd;
      y.value[j] = s[i].value[j] * affine.weight.value[j] + affine.bias.value[j];
    }
    if (out.xhat) store_columns<kAligned>(out.xhat + row * width, at, width, s[i]);
    if (output_drop.active) output_drop.apply(row, at, y);
    store_columns<kAligned>(out.y + row * width, at, width, y);
    s[i] = y;
  }
  if constexpr (kAligned) {
    if (out.bytes) store_fp8<Layout>(s, row, width, there, out.bytes, out.scales);
  }
}

template <typename T, typename Source>
Status launch_norm(const NormForward& args, const Source& source, bool aligned, Stream stream) {
  const NormOutputs<T> out{args.weight,
                           args.affine_bias,
                           args.eps,
                           args.output_dropout,
                           static_cast<T*>(args.xhat),
                           args.rstd,
                           static_cast<T*>(args.y),
                           static_cast<uint8_t*>(args.bytes),
                           args.scales};
  aligned = aligned && args.width % kChunk == 0 && aligned16(args.xhat) && aligned16(args.y) &&
            aligned16(args.weight) && aligned16(args.affine_bias);
  if (args.bytes && !aligned) return "rows that fp8 does not take";
  const auto run = [&](auto layout) {
    using Layout = decltype(layout);
    const auto blocks = static_cast<unsigned>(ceil_div(args.rows, Layout::kRows));
    return launch_early(norm_kernel<Layout, Source, T>, {dim3(blocks), kNormWarps * 32}, stream,
                        source, out, args.rows, static_cast<int>(args.width));
  };
  const bool few = args.rows <= kFewRows && args.width > 256 && args.width <= 1024;
  if (aligned && few) return run(NormLayout<1, kNormWarps, true>());
  return by_norm_layout(args.width, aligned, run);
}

}  // namespace hone::kernels::cuda
