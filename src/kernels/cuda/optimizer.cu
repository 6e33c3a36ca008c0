#include "kernels/cuda/optimizer.cuh"

namespace hone::kernels::cuda {
namespace {

__device__ __forceinline__ double block_sum(double value) {
  __shared__ double shared[kOptimizerThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
#pragma unroll
  for (int i = 0; i < kOptimizerThreads / 32; ++i) sum += shared[i];
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
  s.nesterov = static_cast<int>(state->nesterov);
  s.skipped = skipped ? 1 : 0;
  s.lr = state->lr;
  s.correction1 = 1.0 - pow(state->beta1, step);
  s.weight_decay = state->weight_decay;
  *scalars = s;
}

__device__ __forceinline__ float square_sum(const float4& g) {
  return g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
}

/// A block has a piece; the last block to finish adds the pieces' sums up, in their order.
__global__ void __launch_bounds__(kOptimizerThreads)
    norm_kernel(const float* gradients, const OptimizerPiece* pieces, int64_t count,
                OptimizerState* state, void* workspace) {
  __shared__ bool last;
  const OptimizerPiece piece = pieces[blockIdx.x];
  const float* g = gradients + piece.begin + piece.gradient_shift;
  double sum = 0;
  int i = 0;
  if ((piece.begin + piece.gradient_shift) % 4 == 0) {
    i = piece.count / 4 * 4;
    // Squares of 4 are added in fp32, then in double: what overflows is not finite either way.
    for (int at = static_cast<int>(threadIdx.x) * 4; at < i; at += kOptimizerThreads * 4) {
      if (touched(piece, at)) sum += square_sum(*reinterpret_cast<const float4*>(g + at));
    }
  }
  for (int at = i + static_cast<int>(threadIdx.x); at < piece.count; at += kOptimizerThreads) {
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
  for (int64_t at = threadIdx.x; at < count; at += kOptimizerThreads) total += __ldcg(sums + at);
  total = block_sum(total);
  if (threadIdx.x == 0) {
    *counter_of(workspace) = 0;
    decide(total, state, scalars_of(workspace));
  }
}

template <bool kMomentum>
struct SgdRule {
  static constexpr int kStates = kMomentum ? 1 : 0;
  float lr, momentum, decay;
  bool nesterov;

  __device__ SgdRule(const StepScalars& s, const OptimizerPiece& piece)
      : lr(static_cast<float>(s.lr * double{piece.lr_scale})),
        momentum(s.momentum),
        decay(piece.decay ? static_cast<float>(s.weight_decay) : 0.0f),
        nesterov(s.nesterov != 0) {}
  __device__ __forceinline__ float operator()(float parameter, float g, float& m, float&) const {
    g = fmaf(parameter, decay, g);
    if (kMomentum) {
      m = fmaf(m, momentum, g);
      g = nesterov ? fmaf(m, momentum, g) : m;
    }
    return fmaf(-g, lr, parameter);
  }
};

/// A block has a piece.
template <typename Rule, typename Copy>
__global__ void __launch_bounds__(kOptimizerThreads)
    update_kernel(OptimizerArrays a, const OptimizerPiece* pieces, const void* workspace) {
  update_piece<Rule, Copy>(a, pieces[blockIdx.x], *static_cast<const StepScalars*>(workspace));
}

template <typename Rule>
Status step(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
            OptimizerState* state, void* workspace, Stream stream) {
  if (count == 0) return nullptr;
  if (const Status status = launch_norm(arrays, pieces, count, state, workspace, stream)) {
    return status;
  }
  const auto kernel = arrays.copy_dtype == DType::f16 ? update_kernel<Rule, __half>
                                                      : update_kernel<Rule, __nv_bfloat16>;
  kernel<<<static_cast<unsigned>(count), kOptimizerThreads, 0, stream_of(stream)>>>(arrays, pieces,
                                                                                    workspace);
  return launched();
}

}  // namespace

Status launch_norm(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
                   OptimizerState* state, void* workspace, Stream stream) {
  if (arrays.copy && arrays.copy_dtype != DType::bf16 && arrays.copy_dtype != DType::f16) {
    return "an optimiser's copy in a dtype other than bf16 and f16";
  }
  norm_kernel<<<static_cast<unsigned>(count), kOptimizerThreads, 0, stream_of(stream)>>>(
      arrays.gradients, pieces, count, state, workspace);
  return launched();
}

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
