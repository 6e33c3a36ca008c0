// A block runs one sequence through all its steps. Its threads hold the recurrent weight in
// registers, a row of it each: thread 4 j + q has gate q of hidden unit j, so that a unit's four
// gates meet by shuffles, and a step has one barrier. What a step reads of memory is asked for
// kAhead steps before.
#include "kernels/cuda/lstm.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kAhead = 4;
constexpr unsigned kAll = 0xffffffffu;

/// The dot product of K weights in registers with K values in shared memory.
template <int K>
__device__ __forceinline__ float dot(const float (&weight)[K], const float* values) {
  float sums[4] = {};
#pragma unroll
  for (int k = 0; k < K; k += 4) {
    const float4 v = *reinterpret_cast<const float4*>(values + k);
    sums[0] = fmaf(weight[k], v.x, sums[0]);
    sums[1] = fmaf(weight[k + 1], v.y, sums[1]);
    sums[2] = fmaf(weight[k + 2], v.z, sums[2]);
    sums[3] = fmaf(weight[k + 3], v.w, sums[3]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// A unit's four gates, each from its lane.
struct Gates {
  float i, f, g, o;
  __device__ __forceinline__ explicit Gates(float own) {
    const int first = static_cast<int>(threadIdx.x % 32) & ~3;
    i = __shfl_sync(kAll, own, first);
    f = __shfl_sync(kAll, own, first + 1);
    g = __shfl_sync(kAll, own, first + 2);
    o = __shfl_sync(kAll, own, first + 3);
  }
};

template <int K, bool kKeeps, typename T>
__global__ void __launch_bounds__(4 * K)
    lstm_kernel(const int32_t* offsets, int sequences, int64_t tokens, int hidden, const T* w,
                const T* x, const float* bias, T* h, T* gates, float* cells) {
  __shared__ __align__(16) float state[2][K];
  let_next_kernel_start();
  wait_for_kernel_before();
  const int gate = static_cast<int>(threadIdx.x % 4), unit = static_cast<int>(threadIdx.x / 4);
  const bool is_there = unit < hidden;
  const int column = gate * hidden + unit;
  float weight[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    weight[k] = is_there && k < hidden ? to_float(w[int64_t{column} * hidden + k]) : 0.0f;
  }
  const float own_bias = is_there && bias ? bias[column] : 0.0f;
  if (threadIdx.x < K) state[0][threadIdx.x] = 0.0f;
  const int64_t first = offsets[blockIdx.x];
  const int length = offsets[blockIdx.x + 1] - static_cast<int>(first);
  const int64_t gates_width = 4 * int64_t{hidden};
  const auto load = [&](int t) {
    return is_there && t < length ? to_float(x[(first + t) * gates_width + column]) : 0.0f;
  };
  float ahead[kAhead];
#pragma unroll
  for (int u = 0; u < kAhead; ++u) ahead[u] = load(u);
  __syncthreads();
  float c = 0.0f;
  for (int start = 0; start < length; start += kAhead) {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int t = start + u;
      if (t >= length) break;
      float z = ahead[u] + own_bias;
      ahead[u] = load(t + kAhead);
      z += dot(weight, state[t % 2]);
      // One function serves all gates: tanh z = 2 sigmoid(2 z) - 1.
      const float s = fast_sigmoid(gate == 2 ? 2.0f * z : z);
      const float own = gate == 2 ? 2.0f * s - 1.0f : s;
      const Gates all(own);
      c = fmaf(all.f, c, all.i * all.g);
      const float out = rounded_to<T>(all.o * fast_tanh(c));
      if (gate == 0) state[(t + 1) % 2][unit] = is_there ? out : 0.0f;
      if (is_there) {
        const int64_t row = first + t;
        if (gate == 0) h[row * hidden + unit] = from_float<T>(out);
        if (kKeeps) {
          gates[row * gates_width + column] = from_float<T>(own);
          if (gate == 1) cells[row * hidden + unit] = c;
        }
      }
      __syncthreads();
    }
  }
  clear_rows_behind(h, offsets[sequences], tokens, hidden);
}

/// What a thread reads at one step of the backward pass.
struct StepBefore {
  float gate, dh, cell;  ///< cell is that of the step before
};

template <int K, typename T>
__global__ void __launch_bounds__(4 * K)
    lstm_backward_kernel(const int32_t* offsets, int sequences, int64_t tokens, int hidden,
                         const T* w, const T* dh, const T* h, const T* gates, const float* cells,
                         T* dx, T* before) {
  // A gate's values begin four banks further than those of the gate before.
  __shared__ __align__(16) float slopes[2][4][K + 4];
  let_next_kernel_start();
  wait_for_kernel_before();
  const int gate = static_cast<int>(threadIdx.x % 4), unit = static_cast<int>(threadIdx.x / 4);
  const bool is_there = unit < hidden;
  const int column = gate * hidden + unit;
  float weight[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    weight[k] =
        is_there && k < hidden ? to_float(w[int64_t{gate * hidden + k} * hidden + unit]) : 0.0f;
  }
  const int64_t first = offsets[blockIdx.x];
  const int length = offsets[blockIdx.x + 1] - static_cast<int>(first);
  const int64_t gates_width = 4 * int64_t{hidden};
  const auto load = [&](int t) -> StepBefore {
    if (!is_there || t < 0) return {0.0f, 0.0f, 0.0f};
    const int64_t row = first + t;
    return {to_float(gates[row * gates_width + column]), to_float(dh[row * hidden + unit]),
            t > 0 ? cells[(row - 1) * hidden + unit] : 0.0f};
  };
  StepBefore ahead[kAhead];
#pragma unroll
  for (int u = 0; u < kAhead; ++u) ahead[u] = load(length - 1 - u);
  float c = is_there && length > 0 ? cells[(first + length - 1) * hidden + unit] : 0.0f;
  float dh_next = 0.0f, dc_next = 0.0f;
  for (int start = 0; start < length; start += kAhead) {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const int t = length - 1 - start - u;
      if (t < 0) break;
      const StepBefore step = ahead[u];
      ahead[u] = load(t - kAhead);
      const Gates all(step.gate);
      const float tanh_c = fast_tanh(c);
      const float dh_all = step.dh + dh_next;
      const float dc = fmaf(dh_all * all.o, 1.0f - tanh_c * tanh_c, dc_next);
      const float factor = gate == 0   ? dc * all.g
                           : gate == 1 ? dc * step.cell
                           : gate == 2 ? dc * all.i
                                       : dh_all * tanh_c;
      const float slope = gate == 2 ? 1.0f - step.gate * step.gate : step.gate * (1.0f - step.gate);
      const float own = is_there ? rounded_to<T>(factor * slope) : 0.0f;
      dc_next = dc * all.f;
      c = step.cell;
      slopes[u % 2][gate][unit] = own;
      if (is_there) {
        const int64_t row = first + t;
        dx[row * gates_width + column] = from_float<T>(own);
        if (gate == 0) {
          before[row * hidden + unit] = t > 0 ? h[(row - 1) * hidden + unit] : from_float<T>(0.0f);
        }
      }
      __syncthreads();
      float sum = dot(weight, slopes[u % 2][gate]);
      sum += __shfl_xor_sync(kAll, sum, 1);
      dh_next = sum + __shfl_xor_sync(kAll, sum, 2);
    }
  }
  clear_rows_behind(dx, offsets[sequences], tokens, gates_width);
  clear_rows_behind(before, offsets[sequences], tokens, hidden);
}

template <int K, typename T>
Status start(const LstmShape& s, const LstmForward& args, Stream stream) {
  const auto kernel = args.gates ? lstm_kernel<K, true, T> : lstm_kernel<K, false, T>;
  return launch_early(kernel, {dim3(static_cast<unsigned>(s.sequences)), 4 * K}, stream, s.offsets,
                      static_cast<int>(s.sequences), s.tokens, static_cast<int>(s.hidden),
                      static_cast<const T*>(s.weight), static_cast<const T*>(args.x), args.bias,
                      static_cast<T*>(args.h), static_cast<T*>(args.gates), args.cells);
}

template <int K, typename T>
Status start(const LstmShape& s, const LstmBackward& args, Stream stream) {
  return launch_early(lstm_backward_kernel<K, T>, {dim3(static_cast<unsigned>(s.sequences)), 4 * K},
                      stream, s.offsets, static_cast<int>(s.sequences), s.tokens,
                      static_cast<int>(s.hidden), static_cast<const T*>(s.weight),
                      static_cast<const T*>(args.dh), static_cast<const T*>(args.h),
                      static_cast<const T*>(args.gates), args.cells, static_cast<T*>(args.dx),
                      static_cast<T*>(args.before));
}

template <typename Args>
Status by_width(const LstmShape& shape, const Args& args, Stream stream) {
  return by_dtype(shape.dtype, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    return shape.hidden <= 32 ? start<32, T>(shape, args, stream)
                              : start<64, T>(shape, args, stream);
  });
}

}  // namespace

Status lstm(const LstmShape& shape, const LstmForward& args, Stream stream) {
  if (shape.sequences == 0) return nullptr;
  if (shape.hidden > 64) return lstm_wide(shape, args, stream);
  return by_width(shape, args, stream);
}

Status lstm_backward(const LstmShape& shape, const LstmBackward& args, Stream stream) {
  if (shape.sequences == 0) return nullptr;
  if (shape.hidden > 64) return lstm_wide_backward(shape, args, stream);
  return by_width(shape, args, stream);
}

}  // namespace hone::kernels::cuda
