#include "kernels/cuda/optimizer.h"

#include "kernels/cuda/common.cuh"

namespace hone::kernels::cuda {
namespace {

constexpr int kThreads = 256;

/// Holds what an update multiplies by, rounded from double once, as kernels/cpu/adamw_scalars.h has
/// it; the learning rate's parts are left in double, since pieces scale it.
struct StepScalars {
  float gradient_scale;
  float rest1, beta2, rest2;
  float root_factor;
  float eps;
  float momentum;
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
  s.momentum = static_cast<float>(state->momentum);
  s.skipped = skipped ? 1 : 0;
  s.lr = state->lr;
  s.correction1 = 1.0 - pow(state->beta1, step);
  s.weight_decay = state->weight_decay;
  *scalars = s;
}

/// Says whether a piece's gradient at `at` may differ from 0.
__device__ __forceinline__ bool touched(const OptimizerPiece& piece, int at) {
  return !piece.touched || piece.touched[at / piece.row_width] != 0;
}

__device__ __forceinline__ float square_sum(const float4& g) {
  return g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
}

/// A block has a piece; the last block to finish adds the pieces' sums up, in their order.
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

/// Four elements, a thread's unit of work.
struct Four {
  float value[4];
};

__device__ __forceinline__ Four load_four(const float* from) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  return {{v.x, v.y, v.z, v.w}};
}

__device__ __forceinline__ void store_four(float* to, const Four& f) {
  *reinterpret_cast<float4*>(to) = make_float4(f.value[0], f.value[1], f.value[2], f.value[3]);
}

template <typename Copy>
__device__ __forceinline__ void store_four(Copy* to, const Four& f) {
  *reinterpret_cast<uint2*>(to) =
      make_uint2(pack_pair<Copy>(f.value[0], f.value[1]), pack_pair<Copy>(f.value[2], f.value[3]));
}

/// A rule gives the new parameter of a scaled gradient and of kStates values beside it, which it
/// changes.
struct AdamwRule {
  static constexpr int kStates = 2;
  float rest1, beta2, rest2, root_factor, eps, step_size, keep;

  __device__ AdamwRule(const StepScalars& s, const OptimizerPiece& piece)
      : rest1(s.rest1), beta2(s.beta2), rest2(s.rest2), root_factor(s.root_factor), eps(s.eps) {
    const double lr = s.lr * double{piece.lr_scale};
    step_size = static_cast<float>(lr / s.correction1);
    keep = static_cast<float>(piece.decay ? 1.0 - lr * s.weight_decay : 1.0);
  }
  __device__ __forceinline__ float operator()(float parameter, float g, float& m, float& v) const {
    m = fmaf(g - m, rest1, m);
    v = fmaf(g * g, rest2, v * beta2);
    const float root = sqrtf(v) * root_factor;
    const float ratio = m / (root + eps);
    return fmaf(-ratio, step_size, parameter * keep);
  }
};

template <bool kMomentum>
struct SgdRule {
  static constexpr int kStates = kMomentum ? 1 : 0;
  float lr, momentum, decay;

  __device__ SgdRule(const StepScalars& s, const OptimizerPiece& piece)
      : lr(static_cast<float>(s.lr * double{piece.lr_scale})),
        momentum(s.momentum),
        decay(piece.decay ? static_cast<float>(s.weight_decay) : 0.0f) {}
  __device__ __forceinline__ float operator()(float parameter, float g, float& m, float&) const {
    g = fmaf(parameter, decay, g);
    if (kMomentum) m = g = fmaf(m, momentum, g);
    return fmaf(-g, lr, parameter);
  }
};

/// A block has a piece.
template <typename Rule, typename Copy>
__global__ void __launch_bounds__(kThreads)
    update_kernel(OptimizerArrays a, const OptimizerPiece* pieces, const void* workspace) {
  const StepScalars s = *static_cast<const StepScalars*>(workspace);
  const OptimizerPiece piece = pieces[blockIdx.x];
  const Rule rule(s, piece);
  float* p = a.parameters + piece.begin;
  float* g = a.gradients + piece.begin;
  float* m = Rule::kStates > 0 ? a.m + piece.begin : nullptr;
  float* v = Rule::kStates > 1 ? a.v + piece.begin : nullptr;
  Copy* copy = a.copy ? static_cast<Copy*>(a.copy) + piece.begin : nullptr;
  int whole = piece.begin % 4 == 0 ? piece.count / 4 * 4 : 0;
  for (int at = static_cast<int>(threadIdx.x) * 4; at < whole; at += kThreads * 4) {
    const bool some = touched(piece, at);
    if (!s.skipped) {
      Four pv = load_four(p + at), mv = {}, vv = {};
      if (Rule::kStates > 0) mv = load_four(m + at);
      if (Rule::kStates > 1) vv = load_four(v + at);
      const Four gv = some ? load_four(g + at) : Four{};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        pv.value[i] = rule(pv.value[i], gv.value[i] * s.gradient_scale, mv.value[i], vv.value[i]);
      }
      store_four(p + at, pv);
      if (Rule::kStates > 0) store_four(m + at, mv);
      if (Rule::kStates > 1) store_four(v + at, vv);
      if (copy) store_four(copy + at, pv);
    }
    if (piece.zero && some) store_four(g + at, Four{});
  }
  for (int at = whole + static_cast<int>(threadIdx.x); at < piece.count; at += kThreads) {
    if (!s.skipped) {
      float none = 0.0f;
      p[at] = rule(p[at], g[at] * s.gradient_scale, Rule::kStates > 0 ? m[at] : none,
                   Rule::kStates > 1 ? v[at] : none);
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

template <typename Rule>
Status step(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
            OptimizerState* state, void* workspace, Stream stream) {
  if (count == 0) return nullptr;
  if (arrays.copy && arrays.copy_dtype != DType::bf16 && arrays.copy_dtype != DType::f16) {
    return "an optimiser's copy in a dtype other than bf16 and f16";
  }
  const auto blocks = static_cast<unsigned>(count);
  norm_kernel<<<blocks, kThreads, 0, stream_of(stream)>>>(arrays.gradients, pieces, count, state,
                                                          workspace);
  if (const Status status = launched()) return status;
  const auto kernel = arrays.copy_dtype == DType::f16 ? update_kernel<Rule, __half>
                                                      : update_kernel<Rule, __nv_bfloat16>;
  kernel<<<blocks, kThreads, 0, stream_of(stream)>>>(arrays, pieces, workspace);
  return launched();
}

}  // namespace

size_t optimizer_workspace(int64_t pieces) {
  return 256 + static_cast<size_t>(pieces) * sizeof(double);
}

Status adamw(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
             OptimizerState* state, void* workspace, Stream stream) {
  return step<AdamwRule>(arrays, pieces, count, state, workspace, stream);
}

Status sgd(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
           OptimizerState* state, void* workspace, Stream stream) {
  return arrays.m ? step<SgdRule<true>>(arrays, pieces, count, state, workspace, stream)
                  : step<SgdRule<false>>(arrays, pieces, count, state, workspace, stream);
}

}  // namespace hone::kernels::cuda
