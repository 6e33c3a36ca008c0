// What the kernels of optimisers share.
#pragma once

#include "kernels/cuda/common.cuh"
#include "kernels/cuda/optimizer.h"

namespace hone::kernels::cuda {

constexpr int kOptimizerThreads = 256;

/// Holds what an update multiplies by, rounded from double once, as kernels/cpu/adamw_scalars.h has
/// it; the learning rate's parts are left in double, since pieces scale it.
struct StepScalars {
  float gradient_scale;
  float rest1, beta2, rest2;
  float root_factor;
  float eps;
  float momentum;
  int nesterov;
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

/// Says whether a piece's gradient at `at` may differ from 0.
__device__ __forceinline__ bool touched(const OptimizerPiece& piece, int at) {
  return !piece.touched || piece.touched[at / piece.row_width] != 0;
}

/// Clears a piece's marks, behind all that reads them.
__device__ __forceinline__ void clear_marks(const OptimizerPiece& piece) {
  if (!piece.touched) return;
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.x); row < piece.count / piece.row_width;
       row += kOptimizerThreads) {
    piece.touched[row] = 0;
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

/// Updates a piece by a block of threads.
template <typename Rule, typename Copy>
__device__ __forceinline__ void update_piece(const OptimizerArrays& a, const OptimizerPiece& piece,
                                             const StepScalars& s) {
  const Rule rule(s, piece);
  float* p = a.parameters + piece.begin + piece.shift;
  float* g = a.gradients + piece.begin + piece.gradient_shift;
  float* m = Rule::kStates > 0 ? a.m + piece.begin : nullptr;
  float* v = Rule::kStates > 1 ? a.v + piece.begin : nullptr;
  Copy* copy = a.copy ? static_cast<Copy*>(a.copy) + piece.begin + piece.shift : nullptr;
  int whole = piece.begin % 4 == 0 ? piece.count / 4 * 4 : 0;
  for (int at = static_cast<int>(threadIdx.x) * 4; at < whole; at += kOptimizerThreads * 4) {
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
  for (int at = whole + static_cast<int>(threadIdx.x); at < piece.count; at += kOptimizerThreads) {
    if (!s.skipped) {
      float none = 0.0f;
      p[at] = rule(p[at], g[at] * s.gradient_scale, Rule::kStates > 0 ? m[at] : none,
                   Rule::kStates > 1 ? v[at] : none);
      if (copy) copy[at] = from_float<Copy>(p[at]);
    }
    if (piece.zero) g[at] = 0.0f;
  }
  clear_marks(piece);
}

/// Launches the kernel that sums the squares of all gradients and decides about the step: behind
/// it the workspace begins with StepScalars.
Status launch_norm(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
                   OptimizerState* state, void* workspace, Stream stream);

}  // namespace hone::kernels::cuda
