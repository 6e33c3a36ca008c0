#include "kernels/cuda/batch_norm.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kChannels = 32;  // channels of a block, next to each other in a row
constexpr int kLanes = 16;     // rows that a block reads at one time

/// Adds `value` up over the block's lanes of one channel, in one order; all lanes get the sum.
__device__ float sum_over_lanes(float value) {
  __shared__ float parts[kLanes][kChannels];
  parts[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += parts[lane][threadIdx.x];
  __syncthreads();
  return sum;
}

template <typename T>
__global__ void statistics_kernel(BatchNorm args) {
  const int64_t channel = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  const bool inside = channel < args.width;
  const T* x = static_cast<const T*>(args.x);
  const auto count = static_cast<float>(args.rows);
  float sum = 0;
  for (int64_t row = threadIdx.y; inside && row < args.rows; row += kLanes) {
    sum += to_float(x[row * args.width + channel]);
  }
  const float mean = sum_over_lanes(sum) / count;
  float squares = 0;
  for (int64_t row = threadIdx.y; inside && row < args.rows; row += kLanes) {
    const float centred = to_float(x[row * args.width + channel]) - mean;
    squares += centred * centred;
  }
  const float all = sum_over_lanes(squares);
  if (!inside || threadIdx.y != 0) return;
  args.mean[channel] = mean;
  args.rstd[channel] = rsqrtf(all / count + args.eps);
  const float unbiased = args.rows > 1 ? all / (count - 1) : all / count;
  const float keep = 1 - args.momentum;
  args.running_mean[channel] = keep * args.running_mean[channel] + args.momentum * mean;
  args.running_variance[channel] = keep * args.running_variance[channel] + args.momentum * unbiased;
}

template <typename T>
__global__ void normalize_kernel(BatchNorm args) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= args.rows * args.width) return;
  const int64_t channel = at % args.width;
  const float mean = args.mean ? args.mean[channel] : args.running_mean[channel];
  const float rstd =
      args.mean ? args.rstd[channel] : rsqrtf(args.running_variance[channel] + args.eps);
  const float xhat = (to_float(static_cast<const T*>(args.x)[at]) - mean) * rstd;
  static_cast<T*>(args.y)[at] = static_cast<T>(xhat * args.weight[channel] + args.bias[channel]);
}

template <typename T>
__global__ void sums_kernel(BatchNormBackward args) {
  const int64_t channel = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  const bool inside = channel < args.width;
  const float mean = inside ? args.mean[channel] : 0;
  const float rstd = inside ? args.rstd[channel] : 0;
  float sum = 0, dot = 0;
  for (int64_t row = threadIdx.y; inside && row < args.rows; row += kLanes) {
    const int64_t at = row * args.width + channel;
    const float g = to_float(static_cast<const T*>(args.dy)[at]);
    sum += g;
    dot += g * (to_float(static_cast<const T*>(args.x)[at]) - mean) * rstd;
  }
  sum = sum_over_lanes(sum);
  dot = sum_over_lanes(dot);
  if (!inside || threadIdx.y != 0) return;
  args.sums[channel] = sum;
  args.sums[args.width + channel] = dot;
  if (args.dbias) args.dbias[channel] += sum;
  if (args.dweight) args.dweight[channel] += dot;
}

template <typename T>
__global__ void input_gradient_kernel(BatchNormBackward args) {
  const int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= args.rows * args.width) return;
  const int64_t channel = at % args.width;
  const auto count = static_cast<float>(args.rows);
  const float rstd = args.rstd[channel];
  const float xhat = (to_float(static_cast<const T*>(args.x)[at]) - args.mean[channel]) * rstd;
  const float g = to_float(static_cast<const T*>(args.dy)[at]) - args.sums[channel] / count -
                  xhat * args.sums[args.width + channel] / count;
  static_cast<T*>(args.dx)[at] = static_cast<T>(g * rstd * args.weight[channel]);
}

constexpr int kThreads = 256;

}  // namespace

Status batch_norm(const BatchNorm& args, Stream stream) {
  if (args.rows == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    if (args.mean) {
      const auto blocks = static_cast<unsigned>(ceil_div(args.width, kChannels));
      statistics_kernel<T><<<blocks, dim3(kChannels, kLanes), 0, stream_of(stream)>>>(args);
      if (const Status status = launched()) return status;
    }
    const auto blocks = static_cast<unsigned>(ceil_div(args.rows * args.width, kThreads));
    normalize_kernel<T><<<blocks, kThreads, 0, stream_of(stream)>>>(args);
    return launched();
  });
}

Status batch_norm_backward(const BatchNormBackward& args, Stream stream) {
  if (args.rows == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto blocks = static_cast<unsigned>(ceil_div(args.width, kChannels));
    sums_kernel<T><<<blocks, dim3(kChannels, kLanes), 0, stream_of(stream)>>>(args);
    if (const Status status = launched()) return status;
    const auto elements = static_cast<unsigned>(ceil_div(args.rows * args.width, kThreads));
    input_gradient_kernel<T><<<elements, kThreads, 0, stream_of(stream)>>>(args);
    return launched();
  });
}

}  // namespace hone::kernels::cuda
