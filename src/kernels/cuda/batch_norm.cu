#include "kernels/cuda/batch_norm.cuh"

namespace hone::kernels::cuda {
namespace {

/// Sums are those of what x differs from its first row by, so that a mean far from 0 costs no
/// digits of the variance.
template <bool kAligned, typename T>
__global__ void __launch_bounds__(kNormThreads)
    statistics_kernel(const T* x, int64_t rows, int width, int lanes, int64_t run_rows,
                      float* partials) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const NormPlace place(lanes, rows, run_rows);
  Chunk sums = {}, squares = {};
  if (place.at < width) {
    const Chunk first = load_columns<kAligned>(x, place.at, width);
#pragma unroll 4
    for (int64_t row = place.row; row < place.end; row += place.step) {
      const Chunk own = load_columns<kAligned>(x + row * width, place.at, width);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        const float off = own.value[i] - first.value[i];
        sums.value[i] += off;
        squares.value[i] = fmaf(off, off, squares.value[i]);
      }
    }
  }
  write_sums(sums, squares, lanes, width, partials);
}

template <typename T>
__global__ void __launch_bounds__(32 * kTotalLanes)
    finish_statistics_kernel(BatchNorm args, const float* partials, int64_t runs) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const float2 sums = total_sums(partials, runs, static_cast<int>(args.width));
  const int64_t channel = int64_t{blockIdx.x} * 32 + threadIdx.x;
  if (threadIdx.x >= 32 || channel >= args.width) return;
  const auto count = static_cast<float>(args.rows);
  const float off = sums.x / count;
  const float squares = fmaxf(sums.y - sums.x * off, 0.0f);
  const float mean = to_float(static_cast<const T*>(args.x)[channel]) + off;
  args.mean[channel] = mean;
  args.rstd[channel] = rsqrtf(squares / count + args.eps);
  const float unbiased = args.rows > 1 ? squares / (count - 1) : squares;
  const float keep = 1 - args.momentum;
  args.running_mean[channel] = keep * args.running_mean[channel] + args.momentum * mean;
  args.running_variance[channel] = keep * args.running_variance[channel] + args.momentum * unbiased;
}

template <bool kAligned, typename T>
__global__ void __launch_bounds__(kNormThreads)
    normalize_kernel(BatchNorm args, int lanes, int64_t run_rows) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int width = static_cast<int>(args.width);
  const NormPlace place(lanes, args.rows, run_rows);
  if (place.at >= width) return;
  const bool batch = args.statistics == NormStatistics::batch;
  NormAffine affine;
  affine.mean = load_parameters(batch ? args.mean : args.running_mean, place.at, width);
  affine.bias = load_parameters(args.bias, place.at, width);
  Chunk rstd = load_parameters(batch ? args.rstd : args.running_variance, place.at, width);
  const Chunk weight = load_parameters(args.weight, place.at, width);
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (!batch) rstd.value[i] = rsqrtf(rstd.value[i] + args.eps);
    affine.factor.value[i] = weight.value[i] * rstd.value[i];
  }
  if (args.statistics == NormStatistics::frozen && blockIdx.y == 0 && threadIdx.x < lanes) {
    store_columns<false>(args.mean, place.at, width, affine.mean);
    store_columns<false>(args.rstd, place.at, width, rstd);
  }
  const T* x = static_cast<const T*>(args.x);
  const T* residual = static_cast<const T*>(args.residual);
  T* y = static_cast<T*>(args.y);
#pragma unroll 2
  for (int64_t row = place.row; row < place.end; row += place.step) {
    Chunk own = load_columns<kAligned>(x + row * width, place.at, width);
    Chunk more = {};
    if (residual) more = load_columns<kAligned>(residual + row * width, place.at, width);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const float value = affine(own.value[i], i) + more.value[i];
      own.value[i] = args.relu && value < 0.0f ? 0.0f : value;
    }
    store_columns<kAligned>(y + row * width, place.at, width, own);
  }
}

template <bool kAligned, typename T>
Status run(const BatchNorm& args, float* partials, Stream stream) {
  const NormCut cut(args.rows, args.width);
  if (args.statistics == NormStatistics::batch) {
    Status status = launch_early(statistics_kernel<kAligned, T>, cut.shape(), stream,
                                 static_cast<const T*>(args.x), args.rows,
                                 static_cast<int>(args.width), cut.lanes, cut.run_rows, partials);
    if (!status) {
      status = launch_early(finish_statistics_kernel<T>, total_shape(args.width), stream, args,
                            partials, cut.runs);
    }
    if (status) return status;
  }
  return launch_early(normalize_kernel<kAligned, T>, cut.shape(), stream, args, cut.lanes,
                      cut.run_rows);
}

}  // namespace

size_t batch_norm_workspace(int64_t rows, int64_t width) {
  if (rows == 0 || width == 0) return 0;
  // Two sums a run, and their means.
  return static_cast<size_t>(2 * (NormCut(rows, width).runs + 1) * width) * sizeof(float);
}

Status batch_norm(const BatchNorm& args, void* workspace, Stream stream) {
  if (args.rows == 0 || args.width == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const bool aligned = args.width % kChunk == 0 && aligned16(args.x) &&
                         aligned16(args.residual) && aligned16(args.y);
    auto* partials = static_cast<float*>(workspace);
    return aligned ? run<true, T>(args, partials, stream) : run<false, T>(args, partials, stream);
  });
}

}  // namespace hone::kernels::cuda
