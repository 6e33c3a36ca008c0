#include "kernels/cuda/head.h"

#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/early_launch.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 128;

/// A block has a row, a warp an output.
template <bool kAligned, typename T>
__global__ void head_kernel(const T* x, Dropout dropout, const float* weight, const float* bias,
                            int width, int outputs, float* logits) {
  let_next_kernel_start();
  for (int at = static_cast<int>(threadIdx.x) * 32; at < width * outputs; at += kThreads * 32) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(weight + at));
  }
  wait_for_kernel_before();
  const Dropper drop(dropout);
  const int64_t row = blockIdx.x;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int o = static_cast<int>(threadIdx.x / 32); o < outputs; o += kThreads / 32) {
    float sum = 0.0f;
    for (int at = lane * kChunk; at < width; at += 32 * kChunk) {
      Chunk c = load_columns<kAligned>(x + row * width, at, width);
      if (drop.active) drop.apply(row, at, c);
      const Chunk w = load_columns<kAligned>(weight + int64_t{o} * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum += c.value[j] * w.value[j];
    }
    sum = warp_sum(sum);
    if (lane == 0) logits[row * outputs + o] = sum + (bias ? bias[o] : 0.0f);
  }
}

/// A block has a row.
template <bool kAligned, typename T>
__global__ void head_input_gradient_kernel(const float* dlogits, Dropout dropout,
                                           const float* weight, int width, int outputs, T* dx) {
  const Dropper drop(dropout);
  const int64_t row = blockIdx.x;
  for (int at = static_cast<int>(threadIdx.x) * kChunk; at < width; at += kThreads * kChunk) {
    Chunk sum = {};
    for (int o = 0; o < outputs; ++o) {
      const float g = dlogits[row * outputs + o];
      const Chunk w = load_columns<kAligned>(weight + int64_t{o} * width, at, width);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) sum.value[j] += g * w.value[j];
    }
    if (drop.active) drop.apply(row, at, sum);
    store_columns<kAligned>(dx + row * width, at, width, sum);
  }
}

// A thread of the kernel below has a chunk of columns, and one row in so many.
constexpr int kGradientThreads = 32, kRowGroups = 16;

/// blockIdx.y is the output. Threads add up their rows in order, and the first group then all sums
/// of a chunk of columns.
template <bool kAligned, typename T>
__global__ void head_weight_gradient_kernel(const T* x, const float* dlogits, Dropout dropout,
                                            int64_t rows, int width, int outputs, float* dweight,
                                            float* dbias) {
  const Dropper drop(dropout);
  const int o = static_cast<int>(blockIdx.y);
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kChunk;
  const int group = static_cast<int>(threadIdx.y);
  __shared__ Chunk sums[kRowGroups][kGradientThreads];
  __shared__ float bias_sums[kRowGroups];
  Chunk sum = {};
  float bias_sum = 0.0f;
#pragma unroll 4
  for (int64_t row = group; row < rows; row += kRowGroups) {
    const float g = dlogits[row * outputs + o];
    bias_sum += g;
    if (at >= width || !dweight) continue;
    Chunk c = load_columns<kAligned>(x + row * width, at, width);
    if (drop.active) drop.apply(row, at, c);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum.value[j] += g * c.value[j];
  }
  sums[group][threadIdx.x] = sum;
  if (threadIdx.x == 0) bias_sums[group] = bias_sum;
  __syncthreads();
  if (group > 0) return;
  for (int other = 1; other < kRowGroups; ++other) {
    bias_sum += bias_sums[other];
#pragma unroll
    for (int j = 0; j < kChunk; ++j) sum.value[j] += sums[other][threadIdx.x].value[j];
  }
  if (at == 0 && dbias) dbias[o] += bias_sum;
  if (at >= width || !dweight) return;
  float* to = dweight + int64_t{o} * width;
  const Chunk before = load_columns<kAligned>(to, at, width);
#pragma unroll
  for (int j = 0; j < kChunk; ++j) sum.value[j] += before.value[j];
  store_columns<kAligned>(to, at, width, sum);
}

__global__ void binary_logits_kernel(const float* x, int64_t rows, bool widens, float* y) {
  let_next_kernel_start();
  wait_for_kernel_before();
  const int64_t row = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row >= rows) return;
  if (widens) {
    y[2 * row] = 0.0f;
    y[2 * row + 1] = x[row];
  } else {
    y[row] = x[2 * row + 1];
  }
}

bool aligned_head(const HeadForward& f) {
  return f.width % kChunk == 0 && aligned16(f.x) && aligned16(f.weight);
}

}  // namespace

Status head(const HeadForward& args, Stream stream) {
  if (args.outputs > kMaxHeadOutputs) return "a head of more than 64 outputs";
  if (args.rows == 0) return nullptr;
  return by_dtype(args.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const auto kernel = aligned_head(args) ? head_kernel<true, T> : head_kernel<false, T>;
    return launch_early(kernel, {dim3(static_cast<unsigned>(args.rows)), kThreads}, stream,
                        static_cast<const T*>(args.x), args.dropout, args.weight, args.bias,
                        static_cast<int>(args.width), static_cast<int>(args.outputs), args.logits);
  });
}

Status head_backward(const HeadForward& f, const HeadBackward& args, Stream stream) {
  if (f.outputs > kMaxHeadOutputs) return "a head of more than 64 outputs";
  if (f.rows == 0) return nullptr;
  return by_dtype(f.dtype, [&](auto* type) -> Status {
    using T = std::remove_pointer_t<decltype(type)>;
    const int width = static_cast<int>(f.width), outputs = static_cast<int>(f.outputs);
    const bool aligned = aligned_head(f) && aligned16(args.dx) && aligned16(args.dweight);
    if (args.dx) {
      const auto kernel =
          aligned ? head_input_gradient_kernel<true, T> : head_input_gradient_kernel<false, T>;
      kernel<<<static_cast<unsigned>(f.rows), kThreads, 0, stream_of(stream)>>>(
          args.dlogits, f.dropout, f.weight, width, outputs, static_cast<T*>(args.dx));
      if (const Status status = launched()) return status;
    }
    if (!args.dweight && !args.dbias) return nullptr;
    const dim3 grid(static_cast<unsigned>(ceil_div(width, kGradientThreads * kChunk)),
                    static_cast<unsigned>(outputs));
    const auto kernel =
        aligned ? head_weight_gradient_kernel<true, T> : head_weight_gradient_kernel<false, T>;
    const dim3 threads(kGradientThreads, kRowGroups);
    kernel<<<grid, threads, 0, stream_of(stream)>>>(static_cast<const T*>(f.x), args.dlogits,
                                                    f.dropout, f.rows, width, outputs, args.dweight,
                                                    args.dbias);
    return launched();
  });
}

Status binary_logits(const float* x, int64_t rows, bool widens, float* y, Stream stream) {
  if (rows == 0) return nullptr;
  return launch_early(binary_logits_kernel,
                      {dim3(static_cast<unsigned>(ceil_div(rows, kThreads))), kThreads}, stream, x,
                      rows, widens, y);
}

}  // namespace hone::kernels::cuda
