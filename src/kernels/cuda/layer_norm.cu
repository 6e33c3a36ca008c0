#include "kernels/cuda/layer_norm.h"

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/early_launch.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/norm.cuh"

namespace hone::kernels::cuda {
namespace {

/// So few rows get a block each: what counts is how long one takes.
constexpr int64_t kFewRows = 128;

/// s = dropout(x + bias) + residual. A source fetches what it adds up for all chunks of a row
/// before it looks at any, and what no kernel before writes (kAhead) before it waits for that.
template <typename T>
struct SumSource {
  const T* x;
  const float* bias;
  const T* residual;
  Dropout dropout;

  static constexpr bool kAhead = true;

  struct Parts {
    Chunk x, bias, residual;
  };
  template <bool kAligned>
  __device__ __forceinline__ void fetch_ahead(Parts& parts, int at, int width) const {
    parts = {};
    if (bias) parts.bias = load_columns<kAligned>(bias, at, width);
  }
  template <bool kAligned>
  __device__ __forceinline__ void fetch(Parts& parts, int64_t row, int at, int width) const {
    parts.x = load_columns<kAligned>(x + row * width, at, width);
    if (residual) parts.residual = load_columns<kAligned>(residual + row * width, at, width);
  }
  __device__ __forceinline__ Chunk sum(const Parts& parts, const Dropper& drop, int64_t row,
                                       int at) const {
    Chunk s = parts.x;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) s.value[j] += parts.bias.value[j];
    if (drop.active) drop.apply(row, at, s);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) s.value[j] += parts.residual.value[j];
    return s;
  }
};

/// s = word + type + position, in this order. Its kernel is the first of a pass: those behind may
/// read weights ahead, so it lets them start when all before it is done.
template <typename Table>
struct EmbeddingSource {
  const Table *word, *type, *position;
  const int32_t *word_ids, *type_ids, *position_ids;
  Dropout dropout;  // none

  static constexpr bool kAhead = false;

  struct Parts {
    Chunk word, type, position;
  };
  template <bool kAligned>
  __device__ __forceinline__ void fetch_ahead(Parts& parts, int, int) const {
    parts = {};
  }
  template <bool kAligned>
  __device__ __forceinline__ void fetch(Parts& parts, int64_t row, int at, int width) const {
    const auto entry = [&](const Table* table, int64_t id) {
      return load_columns<kAligned>(table + id * width, at, width);
    };
    parts.word = entry(word, word_ids[row]);
    if (type) parts.type = entry(type, type_ids ? type_ids[row] : 0);
    if (position) parts.position = entry(position, position_ids[row]);
  }
  __device__ __forceinline__ Chunk sum(const Parts& parts, const Dropper&, int64_t, int) const {
    Chunk s;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s.value[j] = parts.word.value[j] + parts.type.value[j] + parts.position.value[j];
    }
    return s;
  }
};

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
Status launch(const NormForward& args, const Source& source, bool aligned, Stream stream) {
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

template <typename Table, typename T>
Status launch_embedding(const EmbeddingForward& e, const NormForward& norm, Stream stream) {
  const EmbeddingSource<Table> source{static_cast<const Table*>(e.word),
                                      static_cast<const Table*>(e.type),
                                      static_cast<const Table*>(e.position),
                                      e.word_ids,
                                      e.type_ids,
                                      e.position_ids,
                                      {}};
  const bool aligned = aligned16(e.word) && aligned16(e.type) && aligned16(e.position);
  return launch<T>(norm, source, aligned, stream);
}

}  // namespace

Status layer_norm(const NormForward& args, Stream stream) {
  if (args.rows == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const SumSource<T> source{static_cast<const T*>(args.x), args.bias,
                              static_cast<const T*>(args.residual), args.dropout};
    const bool aligned = aligned16(args.x) && aligned16(args.bias) && aligned16(args.residual);
    return launch<T>(args, source, aligned, stream);
  });
}

Status embed_and_normalize(const EmbeddingForward& embedding, const NormForward& norm,
                           Stream stream) {
  if (norm.rows == 0) return nullptr;
  return by_dtype(norm.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (embedding.table_dtype == norm.dtype) return launch_embedding<T, T>(embedding, norm, stream);
    if (embedding.table_dtype != DType::f32) return Status("embedding tables are of another dtype");
    return launch_embedding<float, T>(embedding, norm, stream);
  });
}

}  // namespace hone::kernels::cuda
