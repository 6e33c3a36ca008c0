// Layers whose weight does not fit a block's registers: a block runs one sequence and reads the
// weight anew at every step, from the L2 cache where it fits there.
#include "kernels/cuda/lstm.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 512;

/// Shared memory: state [hidden], gates [4 * hidden], cells [hidden].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    lstm_wide_kernel(const int32_t* offsets, int sequences, int64_t tokens, int hidden, const T* w,
                     const T* x, const float* bias, T* h, T* gates, float* cells) {
  extern __shared__ float memory[];
  float* state = memory;
  float* sums = memory + hidden;
  float* c = memory + 5 * hidden;
  let_next_kernel_start();
  wait_for_kernel_before();
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t gates_width = 4 * int64_t{hidden};
  for (int j = static_cast<int>(threadIdx.x); j < hidden; j += kThreads) state[j] = c[j] = 0.0f;
  __syncthreads();
  for (int64_t row = offsets[blockIdx.x]; row < offsets[blockIdx.x + 1]; ++row) {
    for (int column = warp; column < 4 * hidden; column += kThreads / 32) {
      float sum = 0.0f;
      for (int k = lane; k < hidden; k += 32) {
        sum = fmaf(to_float(w[int64_t{column} * hidden + k]), state[k], sum);
      }
      sum = warp_sum(sum);
      if (lane == 0) {
        sums[column] = sum + to_float(x[row * gates_width + column]) + (bias ? bias[column] : 0.0f);
      }
    }
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < hidden; j += kThreads) {
      const float i = fast_sigmoid(sums[j]), f = fast_sigmoid(sums[hidden + j]);
      const float g = fast_tanh(sums[2 * hidden + j]), o = fast_sigmoid(sums[3 * hidden + j]);
      c[j] = fmaf(f, c[j], i * g);
      state[j] = rounded_to<T>(o * fast_tanh(c[j]));
      h[row * hidden + j] = from_float<T>(state[j]);
      if (!gates) continue;
      T* own = gates + row * gates_width + j;
      own[0] = from_float<T>(i);
      own[hidden] = from_float<T>(f);
      own[2 * hidden] = from_float<T>(g);
      own[3 * hidden] = from_float<T>(o);
      cells[row * hidden + j] = c[j];
    }
    __syncthreads();
  }
  clear_rows_behind(h, offsets[sequences], tokens, hidden);
}

/// Shared memory: slopes [4 * hidden], dh [hidden], dc [hidden].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    lstm_wide_backward_kernel(const int32_t* offsets, int sequences, int64_t tokens, int hidden,
                              const T* w, const T* dh, const T* h, const T* gates,
                              const float* cells, T* dx, T* before) {
  extern __shared__ float memory[];
  float* slopes = memory;
  float* dh_next = memory + 4 * hidden;
  float* dc_next = memory + 5 * hidden;
  let_next_kernel_start();
  wait_for_kernel_before();
  const int64_t gates_width = 4 * int64_t{hidden};
  const int64_t first = offsets[blockIdx.x];
  for (int j = static_cast<int>(threadIdx.x); j < hidden; j += kThreads) {
    dh_next[j] = dc_next[j] = 0.0f;
  }
  __syncthreads();
  for (int64_t row = offsets[blockIdx.x + 1] - 1; row >= first; --row) {
    for (int j = static_cast<int>(threadIdx.x); j < hidden; j += kThreads) {
      const T* own = gates + row * gates_width + j;
      const float i = to_float(own[0]), f = to_float(own[hidden]);
      const float g = to_float(own[2 * hidden]), o = to_float(own[3 * hidden]);
      const float tanh_c = fast_tanh(cells[row * hidden + j]);
      const float c_before = row > first ? cells[(row - 1) * hidden + j] : 0.0f;
      const float dh_all = to_float(dh[row * hidden + j]) + dh_next[j];
      const float dc = fmaf(dh_all * o, 1.0f - tanh_c * tanh_c, dc_next[j]);
      const float found[4] = {dc * g * i * (1.0f - i), dc * c_before * f * (1.0f - f),
                              dc * i * (1.0f - g * g), dh_all * tanh_c * o * (1.0f - o)};
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const T stored = from_float<T>(found[q]);
        slopes[q * hidden + j] = to_float(stored);
        dx[row * gates_width + q * hidden + j] = stored;
      }
      dc_next[j] = dc * f;
      before[row * hidden + j] = row > first ? h[(row - 1) * hidden + j] : from_float<T>(0.0f);
    }
    __syncthreads();
    for (int j = static_cast<int>(threadIdx.x); j < hidden; j += kThreads) {
      float sum = 0.0f;
      for (int column = 0; column < 4 * hidden; ++column) {
        sum = fmaf(slopes[column], to_float(w[int64_t{column} * hidden + j]), sum);
      }
      dh_next[j] = sum;
    }
    __syncthreads();
  }
  clear_rows_behind(dx, offsets[sequences], tokens, gates_width);
  clear_rows_behind(before, offsets[sequences], tokens, hidden);
}

/// Checks that the state of a layer fits what shared memory a block has without asking for more.
Status checked(const LstmShape& shape) {
  return shape.hidden > kMaxLstmHidden ? "an LSTM of more than 2048 hidden units" : nullptr;
}

LaunchShape blocks_of(const LstmShape& shape) {
  return {dim3(static_cast<unsigned>(shape.sequences)), kThreads,
          static_cast<size_t>(6 * shape.hidden) * sizeof(float)};
}

}  // namespace

Status lstm_wide(const LstmShape& s, const LstmForward& args, Stream stream) {
  if (const Status status = checked(s)) return status;
  return by_dtype(s.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(lstm_wide_kernel<T>, blocks_of(s), stream, s.offsets,
                        static_cast<int>(s.sequences), s.tokens, static_cast<int>(s.hidden),
                        static_cast<const T*>(s.weight), static_cast<const T*>(args.x), args.bias,
                        static_cast<T*>(args.h), static_cast<T*>(args.gates), args.cells);
  });
}

Status lstm_wide_backward(const LstmShape& s, const LstmBackward& args, Stream stream) {
  if (const Status status = checked(s)) return status;
  return by_dtype(s.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return launch_early(lstm_wide_backward_kernel<T>, blocks_of(s), stream, s.offsets,
                        static_cast<int>(s.sequences), s.tokens, static_cast<int>(s.hidden),
                        static_cast<const T*>(s.weight), static_cast<const T*>(args.dh),
                        static_cast<const T*>(args.h), static_cast<const T*>(args.gates),
                        args.cells, static_cast<T*>(args.dx), static_cast<T*>(args.before));
  });
}

}  // namespace hone::kernels::cuda
