#include <algorithm>

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/row_sums.cuh"

namespace hone::kernels::cuda {
namespace {

template <typename T>
struct Arrays {
  const T* dy;
  const T* xhat;
  const float* rstd;
  const float* weight;
  const float* affine_bias;
  T* y;
  T* dsum;
  T* dx;
  Dropout dropout, output_dropout;
  float* partials;  ///< [blocks][3][width]: sums of weight, affine bias and bias
};

/// Adds a lane's sums up over the rows of the block and writes them.
template <typename Layout>
__device__ __forceinline__ void write_sums(const Chunk* sums, int width, float* partials) {
  extern __shared__ float shared[];  // [kRows][width]
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Layout::kChunks; ++i) {
    const int at = Layout::column(i);
    if (at < width) {
      store_columns<Layout::kAligned>(shared + Layout::row() * width, at, width, sums[i]);
    }
  }
  __syncthreads();
  for (int column = static_cast<int>(threadIdx.x); column < width; column += kNormWarps * 32) {
    float sum = 0.0f;
#pragma unroll
    for (int row = 0; row < Layout::kRows; ++row) sum += shared[row * width + column];
    partials[column] = sum;
  }
}

template <typename Layout, typename T>
__global__ void __launch_bounds__(kNormWarps * 32, 3)
    norm_backward_kernel(Arrays<T> a, int64_t rows, int width) {
  constexpr bool kAligned = Layout::kAligned;
  constexpr int kChunks = Layout::kChunks;
  const Dropper drop(a.dropout), output_drop(a.output_dropout);
  const float inverse = 1.0f / static_cast<float>(width);
  Chunk dweight[kChunks] = {}, daffine[kChunks] = {}, dbias[kChunks] = {};
  // Every thread goes round as often, since rows may be shared between warps.
  for (int64_t base = int64_t{blockIdx.x} * Layout::kRows; base < rows;
       base += int64_t{gridDim.x} * Layout::kRows) {
    const int64_t own_row = base + Layout::row();
    const bool there = own_row < rows;
    const int64_t row = there ? own_row : rows - 1;
    Chunk g[kChunks], xhat[kChunks];
    float sum = 0.0f, product = 0.0f;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int at = Layout::readable(Layout::column(i), width);
      g[i] = load_columns<kAligned>(a.dy + row * width, at, width);
      xhat[i] = load_columns<kAligned>(a.xhat + row * width, at, width);
    }
    const float rstd = a.rstd[row];
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int at = Layout::column(i);
      if (!there || at >= width) continue;
      if (output_drop.active) output_drop.apply(row, at, g[i]);
      const Chunk weight = load_columns<kAligned>(a.weight, at, width);
      if (a.y) {
        Chunk y = load_columns<kAligned>(a.affine_bias, at, width);
#pragma unroll
        for (int j = 0; j < kChunk; ++j) {
          y.value[j] = fmaf(xhat[i].value[j], weight.value[j], y.value[j]);
        }
        store_columns<kAligned>(a.y + row * width, at, width, y);
      }
#pragma unroll
      for (int j = 0; j < kChunk; ++j) {
        const float dy = g[i].value[j], x = xhat[i].value[j];
        dweight[i].value[j] += dy * x;
        daffine[i].value[j] += dy;
        g[i].value[j] = dy * weight.value[j];
        sum += g[i].value[j];
        product += g[i].value[j] * x;
      }
    }
    const float2 sums = Layout::row_sums(sum, product);
    if (!there) continue;
    const float mean = sums.x * inverse, slope = sums.y * inverse;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int at = Layout::column(i);
      if (at >= width) continue;
#pragma unroll
      for (int j = 0; j < kChunk; ++j) {
        g[i].value[j] = rstd * (g[i].value[j] - mean - xhat[i].value[j] * slope);
      }
      store_columns<kAligned>(a.dsum + row * width, at, width, g[i]);
      if (drop.active) drop.apply(row, at, g[i]);
      if (a.dx) store_columns<kAligned>(a.dx + row * width, at, width, g[i]);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) dbias[i].value[j] += g[i].value[j];
    }
  }
  if (!a.partials) return;
  float* partials = a.partials + int64_t{blockIdx.x} * 3 * width;
  write_sums<Layout>(dweight, width, partials);
  write_sums<Layout>(daffine, width, partials + width);
  write_sums<Layout>(dbias, width, partials + 2 * width);
}

/// Rows of a block at a time follow from the width alone, however rows are aligned.
int64_t blocks_of(int64_t rows, int64_t width) {
  const int64_t at_a_time = width <= 1024 ? kNormWarps : width <= 2048 ? kNormWarps / 2 : 1;
  return std::min(ceil_div(rows, at_a_time), kNormSumBlocks);
}

template <typename T>
Status launch(const NormBackward& args, float* partials, Stream stream) {
  const Arrays<T> a{static_cast<const T*>(args.dy),
                    static_cast<const T*>(args.xhat),
                    args.rstd,
                    args.weight,
                    args.affine_bias,
                    static_cast<T*>(args.y),
                    static_cast<T*>(args.dsum),
                    static_cast<T*>(args.dx),
                    args.dropout,
                    args.output_dropout,
                    partials};
  const bool aligned = args.width % kChunk == 0 && aligned16(args.dy) && aligned16(args.xhat) &&
                       aligned16(args.weight) && aligned16(args.affine_bias) && aligned16(args.y) &&
                       aligned16(args.dsum) && aligned16(args.dx);
  return by_norm_layout(args.width, aligned, [&](auto layout) {
    using Layout = decltype(layout);
    const int64_t blocks = blocks_of(args.rows, args.width);
    const auto shared = static_cast<size_t>(Layout::kRows * args.width) * sizeof(float);
    norm_backward_kernel<Layout, T>
        <<<static_cast<unsigned>(blocks), kNormWarps * 32, shared, stream_of(stream)>>>(
            a, args.rows, static_cast<int>(args.width));
    return launched();
  });
}

}  // namespace

Status layer_norm_backward(const NormBackward& args, void* workspace, Stream stream,
                           RowSums* sums) {
  if (sums) *sums = {};
  if (args.rows == 0) return nullptr;
  if (args.dropout.p > 0.0f && !args.dx) return "a norm's dropout without a gradient of x";
  if (sums) {
    *sums = {static_cast<const float*>(workspace),
             blocks_of(args.rows, args.width),
             3,
             static_cast<int32_t>(args.width),
             {args.dweight, args.daffine_bias, args.dbias}};
  }
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch<T>(args, sums ? static_cast<float*>(workspace) : nullptr, stream);
  });
}

}  // namespace hone::kernels::cuda
