#include "kernels/cuda/activation.h"

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/row_sums.cuh"
#include "kernels/cuda/streaming.cuh"

namespace hone::kernels::cuda {
namespace {

template <Activation kActivation, bool kAligned, typename T>
__global__ void activate_kernel(const T* x, int64_t count, T* y) {
  for_chunks<kAligned>(count, [&](int64_t at, int there) {
    Chunk c = load_part<kAligned>(x + at, there);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) c.value[j] = activation_of<kActivation, T>(c.value[j]).value;
    store_part<kAligned>(y + at, there, c);
  });
}

/// Blocks are cut as column_sums_kernel's: 256 columns, a run of rows.
template <Activation kActivation, bool kAligned, bool kSums, typename T>
__global__ void activation_backward_kernel(const T* dy, const T* z, T* dz, T* y, int64_t rows,
                                           int64_t run_rows, int width, float* partials) {
  const int at = static_cast<int>((blockIdx.x * 32 + threadIdx.x) * kChunk);
  const int64_t first = blockIdx.y * run_rows;
  const int64_t end = first + run_rows < rows ? first + run_rows : rows;
  Chunk sums = {};
  if (at < width) {
#pragma unroll 2
    for (int64_t row = first + threadIdx.y; row < end; row += kColumnSumWarps) {
      Chunk g = load_columns<kAligned>(dy + row * width, at, width);
      Chunk x = load_columns<kAligned>(z + row * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) {
        const ActivationValue a = activation_of<kActivation, T>(x.value[j]);
        g.value[j] *= a.slope;
        x.value[j] = a.value;
        if constexpr (kSums) sums.value[j] += g.value[j];
      }
      store_columns<kAligned>(dz + row * width, at, width, g);
      if (y) store_columns<kAligned>(y + row * width, at, width, x);
    }
  }
  if constexpr (kSums) write_column_sums(sums, at, width, partials);
}

template <Activation kActivation, typename T>
Status launch_backward(const ActivationBackward& args, float* partials, Stream stream) {
  // Without sums to write, any number of runs will do.
  const int64_t runs =
      partials ? column_sum_runs(args.rows) : ceil_div(args.rows, 4 * kColumnSumWarps);
  const dim3 grid(static_cast<unsigned>(ceil_div(args.width, kColumnSumColumns)),
                  static_cast<unsigned>(runs < 65535 ? runs : 65535));
  const bool aligned = args.width % kChunk == 0 && aligned16(args.dy) && aligned16(args.z) &&
                       aligned16(args.dz) && aligned16(args.y);
  const auto kernel = aligned
                          ? (partials ? activation_backward_kernel<kActivation, true, true, T>
                                      : activation_backward_kernel<kActivation, true, false, T>)
                          : (partials ? activation_backward_kernel<kActivation, false, true, T>
                                      : activation_backward_kernel<kActivation, false, false, T>);
  kernel<<<grid, dim3(32, kColumnSumWarps), 0, stream_of(stream)>>>(
      static_cast<const T*>(args.dy), static_cast<const T*>(args.z), static_cast<T*>(args.dz),
      static_cast<T*>(args.y), args.rows, ceil_div(args.rows, grid.y), static_cast<int>(args.width),
      partials);
  return launched();
}

}  // namespace

Status activate(Activation activation, DType dtype, const void* x, int64_t count, void* y,
                Stream stream) {
  if (count == 0) return nullptr;
  return by_dtype(dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return by_activation(activation, [&](auto which) {
      const auto kernel = aligned16(x) && aligned16(y) ? activate_kernel<which.value, true, T>
                                                       : activate_kernel<which.value, false, T>;
      kernel<<<stream_blocks(count), kStreamThreads, 0, stream_of(stream)>>>(
          static_cast<const T*>(x), count, static_cast<T*>(y));
      return launched();
    });
  });
}

Status activation_backward(const ActivationBackward& args, void* workspace, Stream stream,
                           RowSums* sums) {
  if (sums) *sums = {};
  if (args.rows == 0 || args.width == 0) return nullptr;
  auto* partials = args.dbias ? static_cast<float*>(workspace) : nullptr;
  if (partials) {
    *sums = {partials,
             column_sum_runs(args.rows),
             1,
             static_cast<int32_t>(args.width),
             {args.dbias, nullptr, nullptr}};
  }
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return by_activation(args.activation, [&](auto which) {
      return launch_backward<which.value, T>(args, partials, stream);
    });
  });
}

}  // namespace hone::kernels::cuda
