#include "kernels/cuda/optimizer.cuh"
#include "tensor/dynamic_map.h"

namespace hone::kernels::cuda {
namespace {

constexpr int kLane = 8;  // elements of a thread: a warp has a block of moments
static_assert(DynamicMap::kBlock == 32 * kLane);

/// A map as kernels read it: from shared memory.
struct CodeMap {
  float values[256];
  float middles[256];
  uint8_t least[DynamicMap::kBuckets];
};

constexpr CodeMap code_map(const DynamicMap& from) {
  CodeMap to{};
  for (int i = 0; i < 256; ++i) {
    to.values[i] = from.values()[i];
    to.middles[i] = from.middles()[i];
  }
  for (int i = 0; i < DynamicMap::kBuckets; ++i) {
    to.least[i] = static_cast<uint8_t>(from.least_ranks()[i]);
  }
  return to;
}

__device__ const CodeMap kSignedTable = code_map(kSignedMap);
__device__ const CodeMap kUnsignedTable = code_map(kUnsignedMap);

__device__ __forceinline__ void load_map(const CodeMap& from, CodeMap& to) {
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += kOptimizerThreads) {
    to.values[i] = from.values[i];
    to.middles[i] = from.middles[i];
  }
  for (int i = static_cast<int>(threadIdx.x); i < DynamicMap::kBuckets; i += kOptimizerThreads) {
    to.least[i] = from.least[i];
  }
}

/// Computes DynamicMap::code() of x * inverse; kZero is the map's code of 0.
template <int kZero>
__device__ __forceinline__ uint32_t code_of(const CodeMap& map, float x, float inverse) {
  const float size = fminf(fabsf(x) * inverse, 1.0f);
  const int bucket = max((__float_as_int(size) >> 16) - DynamicMap::kFirstBucket, 0);
  int rank = map.least[bucket];
  rank += size > map.middles[rank] ? 1 : 0;
  return static_cast<uint32_t>(x < 0.0f ? kZero - min(rank, kZero) : kZero + rank);
}

struct Eight {
  float value[kLane];
};

/// Decodes a thread's elements of a block whose codes and scale are these.
__device__ __forceinline__ Eight decode(const CodeMap& map, uint2 codes, float scale) {
  Eight eight;
#pragma unroll
  for (int i = 0; i < kLane; ++i) {
    const uint32_t word = i < 4 ? codes.x : codes.y;
    eight.value[i] = map.values[word >> (i % 4 * 8) & 255u] * scale;
  }
  return eight;
}

/// Gives a warp's block its codes and scale.
template <int kZero>
__device__ __forceinline__ void encode(const CodeMap& map, const Eight& eight, uint2* codes,
                                       float* scale) {
  float most = 0.0f;
#pragma unroll
  for (int i = 0; i < kLane; ++i) most = fmaxf(most, fabsf(eight.value[i]));
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
  }
  if (most < 1.17549435e-38f) most = 0.0f;  // 1 / most has to be finite
  const float inverse = most > 0.0f ? 1.0f / most : 0.0f;
  uint32_t words[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < kLane; ++i) {
    words[i / 4] |= code_of<kZero>(map, eight.value[i], inverse) << (i % 4 * 8);
  }
  *codes = make_uint2(words[0], words[1]);
  if (threadIdx.x % 32 == 0) *scale = most;
}

/// Updates the four elements from `at` on, of which the piece has the first `count`.
template <typename Copy>
__device__ __forceinline__ void update_four(const AdamwRule& rule, float gradient_scale,
                                            const OptimizerPiece& piece, int at, int count,
                                            float* p, float* g, Copy* copy, float* m, float* v) {
  const bool some = touched(piece, at);
  Four pv = {}, gv = {};
  if (count == 4) {
    pv = load_four(p);
    if (some) gv = load_four(g);
  } else {
    for (int i = 0; i < count; ++i) pv.value[i] = p[i], gv.value[i] = g[i];
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    pv.value[i] = rule(pv.value[i], gv.value[i] * gradient_scale, m[i], v[i]);
  }
  if (count == 4) {
    store_four(p, pv);
    if (copy) store_four(copy, pv);
    if (piece.zero && some) store_four(g, Four{});
  } else {
    for (int i = 0; i < count; ++i) {
      p[i] = pv.value[i];
      if (copy) copy[i] = from_float<Copy>(pv.value[i]);
      if (piece.zero) g[i] = 0.0f;
    }
  }
}

/// A block has a piece, a warp a block of moments at a time.
template <typename Copy>
__device__ __forceinline__ void update_quantized(const OptimizerArrays& a,
                                                 const OptimizerPiece& piece, const StepScalars& s,
                                                 const CodeMap& m_map, const CodeMap& v_map) {
  const AdamwRule rule(s, piece);
  float* p = a.parameters + piece.begin + piece.shift;
  float* g = a.gradients + piece.begin + piece.gradient_shift;
  Copy* copy = a.copy ? static_cast<Copy*>(a.copy) + piece.begin + piece.shift : nullptr;
  for (int at = static_cast<int>(threadIdx.x) * kLane;
       at < (piece.count + DynamicMap::kBlock - 1) / DynamicMap::kBlock * DynamicMap::kBlock;
       at += kOptimizerThreads * kLane) {
    auto* m_codes = reinterpret_cast<uint2*>(a.quantized_m.codes + piece.begin + at);
    auto* v_codes = reinterpret_cast<uint2*>(a.quantized_v.codes + piece.begin + at);
    float* m_scale = a.quantized_m.scales + (piece.begin + at) / DynamicMap::kBlock;
    float* v_scale = a.quantized_v.scales + (piece.begin + at) / DynamicMap::kBlock;
    Eight m = decode(m_map, *m_codes, *m_scale), v = decode(v_map, *v_codes, *v_scale);
    __syncwarp();  // all have read the scales that encode() replaces
#pragma unroll
    for (int half = 0; half < kLane; half += 4) {
      const int from = at + half;
      const int count = min(4, piece.count - from);
      if (count > 0) {
        update_four(rule, s.gradient_scale, piece, from, count, p + from, g + from,
                    copy ? copy + from : nullptr, m.value + half, v.value + half);
      }
    }
    encode<127>(m_map, m, m_codes, m_scale);
    encode<0>(v_map, v, v_codes, v_scale);
  }
  clear_marks(piece);
}

/// What a step that is skipped does: gradients are set to 0.
__device__ __forceinline__ void drop_gradients(const OptimizerArrays& a,
                                               const OptimizerPiece& piece) {
  float* g = a.gradients + piece.begin + piece.gradient_shift;
  if (piece.zero) {
    for (int at = static_cast<int>(threadIdx.x); at < piece.count; at += kOptimizerThreads) {
      g[at] = 0.0f;
    }
  }
  clear_marks(piece);
}

template <typename Copy>
__global__ void __launch_bounds__(kOptimizerThreads)
    adamw_8bit_kernel(OptimizerArrays a, const OptimizerPiece* pieces, const void* workspace) {
  __shared__ CodeMap m_map, v_map;
  const StepScalars s = *static_cast<const StepScalars*>(workspace);
  const OptimizerPiece piece = pieces[blockIdx.x];
  if (!piece.quantized) return update_piece<AdamwRule, Copy>(a, piece, s);
  if (s.skipped) return drop_gradients(a, piece);
  load_map(kSignedTable, m_map);
  load_map(kUnsignedTable, v_map);
  __syncthreads();
  update_quantized<Copy>(a, piece, s, m_map, v_map);
}

}  // namespace

Status adamw_8bit(const OptimizerArrays& arrays, const OptimizerPiece* pieces, int64_t count,
                  OptimizerState* state, void* workspace, Stream stream) {
  if (count == 0) return nullptr;
  if (const Status status = launch_norm(arrays, pieces, count, state, workspace, stream)) {
    return status;
  }
  const auto kernel = arrays.copy_dtype == DType::f16 ? adamw_8bit_kernel<__half>
                                                      : adamw_8bit_kernel<__nv_bfloat16>;
  kernel<<<static_cast<unsigned>(count), kOptimizerThreads, 0, stream_of(stream)>>>(arrays, pieces,
                                                                                    workspace);
  return launched();
}

}  // namespace hone::kernels::cuda
