#include "kernels/cuda/optimizer.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// What an update multiplies by, rounded from double once, as kernels/cpu/adamw_scalars.h has it;
/// the learning rate's parts are left in double, since pieces scale it.
struct StepScalars {
  float gradient_scale;
  float rest1, beta2, rest2;
  float root_factor;
  float eps;
  int32_t skipped;
  double lr, correction1, weight_decay;
};

/// A workspace holds the scalars, the count of blocks that are done (zero between launches), and
/// the pieces' sums.
__host__ __device__ inline StepScalars* scalars_of(void* workspace) {
  return static_cast<StepScalars*>(workspace);
}
__host__ __device__ inline uint32_t* counter_of(void* workspace) {
  return reinterpret_cast<uint32_t*>(static_cast<char*>(workspace) + 128);
}
__host__ __device__ inline double* sums_of(void* workspace) {
  return reinterpret_cast<double*>(static_cast<char*>(workspace) + 256);
}
static_assert(sizeof(StepScalars) <= 128);

__device__ __forceinline__ double block_sum(double value) {
  __shared__ double shared[kThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kThreads / 32; ++i) sum += shared[i];
  return sum;
}

/// Decides about the step: the norm, whether it is taken, and its factors.
__device__ void decide(double squares, OptimizerState* state, StepScalars* scalars) {
  const double norm = sqrt(squares) / state->loss_scale;
  const bool skipped = !isfinite(squares);
  const double step = static_cast<double>(state->step + (skipped ? 0 : 1));
  state->grad_norm = norm;
  state->skipped = skipped ? 1 : 0;
  if (!skipped) state->step += 1;
  double clip = 1.0;
  if (state->max_grad_norm > 0) clip = fmin(1.0, state->max_grad_norm / (norm + 1e-6));
  StepScalars s;
  s.gradient_scale = static_cast<float>(clip / state->loss_scale);
  s.rest1 = static_cast<float>(1.0 - state->beta1);
  s.beta2 = static_cast<float>(state->beta2);
  s.rest2 = static_cast<float>(1.0 - state->beta2);
  s.root_factor = static_cast<float>(1.0 / sqrt(1.0 - pow(state->beta2, step)));
  s.eps = static_cast<float>(state->eps);
  s.skipped = skipped ? 1 : 0;
  s.lr = state->lr;
  s.correction1 = 1.0 - pow(state->beta1, step);
  s.weight_decay = state->weight_decay;
  *scalars = s;
}

/// Whether a piece's gradient at `at` may differ from 0.
__device__ __forceinline__ bool touched(const OptimizerPiece& piece, int at) {
  return !piece.touched || piece.touched[at / piece.row_width] != 0;
}

__device__ __forceinline__ float square_sum(const float4& g) {
  return g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
}

/// A block a piece; the last block to finish adds the pieces' sums up, in their order.
__global__ void __launch_bounds__(kThreads)
    norm_kernel(const float* gradients, const OptimizerPiece* pieces, int64_t count,
                OptimizerState* state, void* workspace) {
  __shared__ bool last;
  const OptimizerPiece piece = pieces[blockIdx.x];
  const float* g = gradients + piece.begin;
  double sum = 0;
  int i = 0;
  if (piece.begin % 4 == 0) {
    i = piece.count / 4 * 4;
    // Squares of 4 are added in fp32, then in double: what overflows is not finite either way.
    for (int at = static_cast<int>(threadIdx.x) * 4; at < i; at += kThreads * 4) {
      if (touched(piece, at)) sum += square_sum(*reinterpret_cast<const float4*>(g + at));
    }
  }
  for (int at = i + static_cast<int>(threadIdx.x); at < piece.count; at += kThreads) {
    if (touched(piece, at)) sum += double{g[at]} * g[at];
  }
  sum = block_sum(sum);
  double* sums = sums_of(workspace);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(counter_of(workspace), 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  double total = 0;
  for (int64_t at = threadIdx.x; at < count; at += kThreads) total += __ldcg(sums + at);
  total = block_sum(total);
  if (threadIdx.x == 0) {
    *counter_of(workspace) = 0;
    decide(total, state, scalars_of(workspace));
  }
}

struct PieceScalars {
  float step_size, keep;
};

__device__ __forceinline__ float update(const StepScalars& s, const PieceScalars& piece,
                                        float parameter, float gradient, float& m, float& v) {
  const float g = gradient * s.gradient_scale;
  m = fmaf(g - m, s.rest1, m);
  v = fmaf(g * g, s.rest2, v * s.beta2);
  const float root = sqrtf(v) * s.root_factor;
  const float ratio = m / (root + s.eps);
  return fmaf(-ratio, piece.step_size, parameter * piece.keep);
}

template <typename Copy>
__device__ __forceinline__ void store_copy(Copy* to, const float4& p) {
  *reinterpret_cast<uint2*>(to) = make_uint2(pack_pair<Copy>(p.x, p.y), pack_pair<Copy>(p.z, p.w));
}

template <typename Copy>
__global__ void __launch_bounds__(kThreads)
    adamw_kernel(OptimizerArrays a, const OptimizerPiece* pieces, const void* workspace) {
  const StepScalars s = *static_cast<const StepScalars*>(workspace);
  const OptimizerPiece piece = pieces[blockIdx.x];
  const double lr = s.lr * double{piece.lr_scale};
  const PieceScalars ps = {
      static_cast<float>(lr / s.correction1),
      static_cast<float>(piece.decay ? 1.0 - lr * s.weight_decay : 1.0)};
  float* p = a.parameters + piece.begin;
  float* g = a.gradients + piece.begin;
  float* m = a.m + piece.begin;
  float* v = a.v + piece.begin;
  Copy* copy = a.copy ? static_cast<Copy*>(a.copy) + piece.begin : nullptr;
  int whole = piece.begin % 4 == 0 ? piece.count / 4 * 4 : 0;
  for (int at = static_cast<int>(threadIdx.x) * 4; at < whole; at += kThreads * 4) {
    float4* to_g = reinterpret_cast<float4*>(g + at);
    const bool some = touched(piece, at);
    if (!s.skipped) {
      float4 pv = *reinterpret_cast<float4*>(p + at), mv = *reinterpret_cast<float4*>(m + at);
      float4 vv = *reinterpret_cast<float4*>(v + at);
      const float4 gv = some ? *to_g : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      pv.x = update(s, ps, pv.x, gv.x, mv.x, vv.x);
      pv.y = update(s, ps, pv.y, gv.y, mv.y, vv.y);
      pv.z = update(s, ps, pv.z, gv.z, mv.z, vv.z);
      pv.w = update(s, ps, pv.w, gv.w, mv.w, vv.w);
      *reinterpret_cast<float4*>(p + at) = pv;
      *reinterpret_cast<float4*>(m + at) = mv;
      *reinterpret_cast<float4*>(v + at) = vv;
      if (copy) store_copy(copy + at, pv);
    }
    if (piece.zero && some) *to_g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  }
  for (int at = whole + static_cast<int>(threadIdx.x); at < piece.count; at += kThreads) {
    if (!s.skipped) {
      p[at] = update(s, ps, p[at], g[at], m[at], v[at]);
      if (copy) copy[at] = from_float<Copy>(p[at]);
    }
    if (piece.zero) g[at] = 0.0f;
  }
  if (!piece.touched) return;
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.x); row < piece.count / piece.row_width;
       row += kThreads) {
    piece.touched[row] = 0;
  }
}

}  // namespace

size_t adamw_workspace(int64_t pieces) {
  return 256 + static_cast<size_t>(pieces) * sizeof(double);
}

Status adamw(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
             OptimizerState* state, void* workspace, Stream stream) {
  if (count == 0) return nullptr;
  const auto blocks = static_cast<unsigned>(count);
  norm_kernel<<<blocks, kThreads, 0, stream_of(stream)>>>(arrays.gradients, pieces, count, state,
                                                          workspace);
  if (const Status status = launched()) return status;
  if (arrays.copy && arrays.copy_dtype == DType::f16) {
    adamw_kernel<__half><<<blocks, kThreads, 0, stream_of(stream)>>>(arrays, pieces, workspace);
  } else if (!arrays.copy || arrays.copy_dtype == DType::bf16) {
    adamw_kernel<__nv_bfloat16>
        <<<blocks, kThreads, 0, stream_of(stream)>>>(arrays, pieces, workspace);
  } else {
    return "an optimiser's copy in a dtype other than bf16 and f16";
  }
  return launched();
}

}  // namespace hone::kernels::cuda
