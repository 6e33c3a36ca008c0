#include "kernels/cuda/layer_norm.h"

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/norm.cuh"

namespace hone::kernels::cuda {
namespace {

/// s = dropout(x + bias) + residual.
template <typename T>
struct SumSource {
  const T* x;
  const float* bias;
  const T* residual;
  Dropout dropout;

  template <bool kAligned>
  __device__ __forceinline__ Chunk load(const Dropper& drop, int64_t row, int at, int width) const {
    Chunk s = load_columns<kAligned>(x + row * width, at, width);
    if (bias) {
      const Chunk b = load_columns<kAligned>(bias, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) s.value[j] += b.value[j];
    }
    if (drop.active) drop.apply(row, at, s);
    if (residual) {
      const Chunk r = load_columns<kAligned>(residual + row * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) s.value[j] += r.value[j];
    }
    return s;
  }
};

/// s = word + type + position, in this order.
template <typename Table>
struct EmbeddingSource {
  const Table *word, *type, *position;
  const int32_t *word_ids, *type_ids, *position_ids;
  Dropout dropout;  // none

  template <bool kAligned>
  __device__ __forceinline__ Chunk load(const Dropper&, int64_t row, int at, int width) const {
    Chunk s = load_columns<kAligned>(word + int64_t{word_ids[row]} * width, at, width);
    const auto add = [&](const Table* table, int64_t entry) {
      const Chunk c = load_columns<kAligned>(table + entry * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) s.value[j] += c.value[j];
    };
    if (type) add(type, type_ids ? type_ids[row] : 0);
    if (position) add(position, position_ids[row]);
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
};

template <typename Layout, typename Source, typename T>
__global__ void __launch_bounds__(kNormWarps * 32)
    norm_kernel(Source source, NormOutputs<T> out, int64_t rows, int width) {
  constexpr bool kAligned = Layout::kAligned;
  const Dropper drop(source.dropout), output_drop(out.output_dropout);
  const int64_t row = int64_t{blockIdx.x} * Layout::kRows + Layout::row();
  const bool there = row < rows;
  Chunk s[Layout::kChunks], weight[Layout::kChunks], bias[Layout::kChunks];
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (!there || at >= width) continue;
    s[i] = source.template load<kAligned>(drop, row, at, width);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      if (kAligned || at + j < width) sum += s[i].value[j];
    }
  }
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {  // on their way while the sums are made
    const int at = Layout::column(i);
    if (at >= width) continue;
    weight[i] = load_columns<kAligned>(out.weight, at, width);
    bias[i] = load_columns<kAligned>(out.affine_bias, at, width);
  }
  const float inverse = 1.0f / static_cast<float>(width);
  const float mean = Layout::row_sums(sum, 0.0f).x * inverse;
  float squares = 0.0f;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (!there || at >= width) continue;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s[i].value[j] -= mean;
      if (kAligned || at + j < width) squares += s[i].value[j] * s[i].value[j];
    }
  }
  const float rstd = rsqrtf(Layout::row_sums(squares, 0.0f).x * inverse + out.eps);
  if (!there) return;
  if (out.rstd && Layout::column(0) == 0) out.rstd[row] = rstd;
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (at >= width) continue;
    Chunk y;
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      s[i].value[j] *= rstd;
      y.value[j] = s[i].value[j] * weight[i].value[j] + bias[i].value[j];
    }
    if (out.xhat) store_columns<kAligned>(out.xhat + row * width, at, width, s[i]);
    if (output_drop.active) output_drop.apply(row, at, y);
    store_columns<kAligned>(out.y + row * width, at, width, y);
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
                           static_cast<T*>(args.y)};
  aligned = aligned && args.width % kChunk == 0 && aligned16(args.xhat) && aligned16(args.y) &&
            aligned16(args.weight) && aligned16(args.affine_bias);
  return by_norm_layout(args.width, aligned, [&](auto layout) {
    using Layout = decltype(layout);
    const auto blocks = static_cast<unsigned>(ceil_div(args.rows, Layout::kRows));
    norm_kernel<Layout, Source, T><<<blocks, kNormWarps * 32, 0, stream_of(stream)>>>(
        source, out, args.rows, static_cast<int>(args.width));
    return launched();
  });
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
