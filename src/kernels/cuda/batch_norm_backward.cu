#include "kernels/cuda/batch_norm.cuh"

namespace hone::kernels::cuda {
namespace {

/// What a thread knows of its channels in the backward pass.
struct Channels {
  Chunk rstd;
  NormAffine affine;

  __device__ __forceinline__ Channels(const BatchNormBackward& args, int at, int width) {
    rstd = load_parameters(args.rstd, at, width);
    affine.mean = load_parameters(args.mean, at, width);
    affine.bias = load_parameters(args.bias, at, width);
    affine.factor = load_parameters(args.weight, at, width);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) affine.factor.value[i] *= rstd.value[i];
  }
};

/// Loads the gradient before the ReLU: dy, cut where y was. Without a residual x says that alone.
template <bool kAligned, typename T>
__device__ __forceinline__ Chunk load_gradient(const BatchNormBackward& args, const T* dy,
                                               const Channels& channels, const Chunk& x,
                                               int64_t row, int at, int width) {
  Chunk own = load_columns<kAligned>(dy + row * width, at, width);
  if (!args.relu) return own;
  if (args.y) {
    const Chunk y = load_columns<kAligned>(static_cast<const T*>(args.y) + row * width, at, width);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) own.value[i] = y.value[i] > 0.0f ? own.value[i] : 0.0f;
    return own;
  }
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    own.value[i] = channels.affine(x.value[i], i) > 0.0f ? own.value[i] : 0.0f;
  }
  return own;
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kNormThreads)
    gradient_sums_kernel(BatchNormBackward args, int lanes, int64_t run_rows, float* partials) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int width = static_cast<int>(args.width);
  const NormPlace place(lanes, args.rows, run_rows);
  Chunk sums = {}, dots = {};
  if (place.at < width) {
    const Channels channels(args, place.at, width);
#pragma unroll 2
    for (int64_t row = place.row; row < place.end; row += place.step) {
      const Chunk x =
          load_columns<kAligned>(static_cast<const T*>(args.x) + row * width, place.at, width);
      const Chunk g = load_gradient<kAligned>(args, static_cast<const T*>(args.dy), channels, x,
                                              row, place.at, width);
      if (args.dsum) {
        store_columns<kAligned>(static_cast<T*>(args.dsum) + row * width, place.at, width, g);
      }
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        sums.value[i] += g.value[i];
        dots.value[i] =
            fmaf(g.value[i], (x.value[i] - channels.affine.mean.value[i]) * channels.rstd.value[i],
                 dots.value[i]);
      }
    }
  }
  write_sums(sums, dots, lanes, width, partials);
}

__global__ void __launch_bounds__(32 * kTotalLanes)
    finish_sums_kernel(BatchNormBackward args, const float* partials, int64_t runs, float* means) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const float2 sums = total_sums(partials, runs, static_cast<int>(args.width));
  const int64_t channel = int64_t{blockIdx.x} * 32 + threadIdx.x;
  if (threadIdx.x >= 32 || channel >= args.width) return;
  if (args.dbias) args.dbias[channel] += sums.x;
  if (args.dweight) args.dweight[channel] += sums.y;
  const auto count = static_cast<float>(args.rows);
  means[channel] = args.frozen ? 0.0f : sums.x / count;
  means[args.width + channel] = args.frozen ? 0.0f : sums.y / count;
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kNormThreads)
    input_gradient_kernel(BatchNormBackward args, int lanes, int64_t run_rows, const float* means) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int width = static_cast<int>(args.width);
  const NormPlace place(lanes, args.rows, run_rows);
  if (place.at >= width) return;
  const Channels channels(args, place.at, width);
  const Chunk mean = load_parameters(means, place.at, width);
  const Chunk slope = load_parameters(means + width, place.at, width);
  const T* dy = static_cast<const T*>(args.dsum ? args.dsum : args.dy);
#pragma unroll 2
  for (int64_t row = place.row; row < place.end; row += place.step) {
    const Chunk x =
        load_columns<kAligned>(static_cast<const T*>(args.x) + row * width, place.at, width);
    Chunk g = args.dsum ? load_columns<kAligned>(dy + row * width, place.at, width)
                        : load_gradient<kAligned>(args, dy, channels, x, row, place.at, width);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const float xhat = (x.value[i] - channels.affine.mean.value[i]) * channels.rstd.value[i];
      g.value[i] =
          (g.value[i] - mean.value[i] - xhat * slope.value[i]) * channels.affine.factor.value[i];
    }
    store_columns<kAligned>(static_cast<T*>(args.dx) + row * width, place.at, width, g);
  }
}

template <bool kAligned, typename T>
Status run(const BatchNormBackward& args, float* partials, Stream stream) {
  const NormCut cut(args.rows, args.width);
  float* means = partials + 2 * cut.runs * args.width;
  Status status = launch_early(gradient_sums_kernel<kAligned, T>, cut.shape(), stream, args,
                               cut.lanes, cut.run_rows, partials);
  if (!status) {
    status = launch_early(finish_sums_kernel, total_shape(args.width), stream, args,
                          static_cast<const float*>(partials), cut.runs, means);
  }
  if (status) return status;
  return launch_early(input_gradient_kernel<kAligned, T>, cut.shape(), stream, args, cut.lanes,
                      cut.run_rows, static_cast<const float*>(means));
}

}  // namespace

Status batch_norm_backward(const BatchNormBackward& args, void* workspace, Stream stream) {
  if (args.rows == 0 || args.width == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = args.width % kChunk == 0 && aligned16(args.dy) && aligned16(args.x) &&
                         aligned16(args.y) && aligned16(args.dsum) && aligned16(args.dx);
    auto* partials = static_cast<float*>(workspace);
    return aligned ? run<true, T>(args, partials, stream) : run<false, T>(args, partials, stream);
  });
}

}  // namespace hone::kernels::cuda
