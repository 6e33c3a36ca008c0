#pragma once

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tensor_core.cuh"

/// Pieces of the tensor-core attention kernels: what a warp does with 16 rows of its own and a tile
/// of shared ones.
namespace hone::kernels::cuda {

/// What a thread drops of its two rows' probabilities.
struct RowDropper {
  Dropper drop;
  uint64_t sample[2] = {0, 0};
  uint32_t position[2] = {0, 0};

  __device__ __forceinline__ RowDropper(const Dropout& dropout, int64_t row, int there)
      : drop(dropout) {
    if (!drop.active) return;
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane / 4 + 8 * half;
      if (i >= there) continue;
      sample[half] = static_cast<uint64_t>(drop.samples[row + i]);
      position[half] = static_cast<uint32_t>(drop.positions[row + i]);
    }
  }
  /// Zeros what is dropped; the rest is not scaled.
  template <int kPairs>
  __device__ __forceinline__ void apply(float (&p)[kPairs][2][4], int head, int first_key) const {
    const int t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const uint32_t quad = attention_quad(head, first_key + 16 * pair + 4 * t);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint32_t kept = drop.keep(sample[half], position[half], quad);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float& value = p[pair][j / 2][2 * half + j % 2];
          value = kept >> j & 1u ? value : 0.0f;
        }
      }
    }
  }
};

/// Scores of keys that are not there become -inf.
template <int kPairs>
__device__ __forceinline__ void mask_keys(float (&s)[kPairs][2][4], int there) {
  const int t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (16 * pair + 4 * t + 2 * h + j % 2 >= there) s[pair][h][j] = -INFINITY;
      }
    }
  }
}

/// Rows of the shared side that a backward pass takes at a time.
constexpr int kStep = 32;
constexpr int kStepPairs = kStep / 16;

/// What the backward pass knows of a thread's two queries.
struct QueryFacts {
  float log_sum2[2];  ///< in powers of 2
  float mean[2];      ///< of the probabilities' gradients: dout . out

  /// Of 16 queries, `there` of which exist; the products are summed over the four threads of a row.
  template <int kDepth, typename T>
  __device__ __forceinline__ QueryFacts(const Rows<kDepth>& dout, const T* out, int64_t stride,
                                        const float* log_sums, int64_t heads, int there) {
    Rows<kDepth> y;
    y.load(out, stride, there);
    const int row = static_cast<int>(threadIdx.x % 32) / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = 0.0f;
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
        for (int j = half; j < 4; j += 2) {
          const float2 a = unpack_pair<T>(dout.a[k][j]), b = unpack_pair<T>(y.a[k][j]);
          sum += a.x * b.x + a.y * b.y;
        }
      }
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      mean[half] = sum;
      const int at = row + 8 * half;
      log_sum2[half] = at < there ? log_sums[at * heads] * kLog2E : INFINITY;
    }
  }
};

/// dq += ds * keys over a tile of which `there` keys exist, without the scale.
template <int kKeys, int kDepth, typename T>
__device__ __forceinline__ void query_gradient_tile(float (&dq)[kDepth / 8][4],
                                                    const Rows<kDepth>& q,
                                                    const Rows<kDepth>& dout,
                                                    const QueryFacts& facts,
                                                    const RowDropper& drop, float scale_log2,
                                                    uint32_t keys, uint32_t values, int there,
                                                    int head, int first_key) {
#pragma unroll 1
  for (int at = 0; at < kKeys && at < there; at += kStep) {
    float s[kStepPairs][2][4], dp[kStepPairs][2][4];
    multiply_transposed<kDepth, kStepPairs, T>(s, q, keys, at / 16);
    multiply_transposed<kDepth, kStepPairs, T>(dp, dout, values, at / 16);
    if (there - at < kStep) mask_keys(s, there - at);
    if (drop.drop.active) drop.apply(dp, head, first_key + at);
#pragma unroll
    for (int pair = 0; pair < kStepPairs; ++pair) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float p = exp2_fast(fmaf(s[pair][h][j], scale_log2, -facts.log_sum2[j / 2]));
          s[pair][h][j] = p * (dp[pair][h][j] * drop.drop.scale - facts.mean[j / 2]);
        }
      }
    }
    multiply_add<kDepth, kStepPairs, T>(dq, s, keys, at / 16);
  }
}

/// What is kept of a warp's 16 keys (rows) under kStep queries (bits): for the thread's two keys.
/// Lane l draws for query l, `row` in the packed queries.
__device__ __forceinline__ uint2 kept_keys(const Dropper& drop, int64_t row, bool exists, int head,
                                           int first_key) {
  const int mine = static_cast<int>(threadIdx.x % 32) / 4;
  const uint64_t sample = exists ? static_cast<uint64_t>(drop.samples[row]) : 0u;
  const uint32_t position = exists ? static_cast<uint32_t>(drop.positions[row]) : 0u;
  uint2 kept = make_uint2(0u, 0u);
#pragma unroll
  for (int four = 0; four < 4; ++four) {
    const uint32_t bits = drop.keep(sample, position, attention_quad(head, first_key + 4 * four));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t all = __ballot_sync(0xffffffffu, bits >> i & 1u);
      if (4 * four + i == mine) kept.x = all;
      if (4 * four + i == mine + 8) kept.y = all;
    }
  }
  return kept;
}

/// dk += ds^T * queries and dv += p^T * douts over a tile of which `there` queries exist; dk without
/// the scale, dv without dropout's. log_sums (natural) and means of the tile are in shared memory,
/// zeros where a query does not exist.
template <int kQueries, int kDepth, typename T>
__device__ __forceinline__ void key_gradient_tile(float (&dk)[kDepth / 8][4],
                                                  float (&dv)[kDepth / 8][4],
                                                  const Rows<kDepth>& k, const Rows<kDepth>& v,
                                                  const Dropper& drop, float scale_log2,
                                                  uint32_t queries, uint32_t douts,
                                                  const float* log_sums, const float* means,
                                                  int there, int64_t first_query, int head,
                                                  int first_key) {
  const int lane = static_cast<int>(threadIdx.x % 32), t = lane % 4;
#pragma unroll 1
  for (int at = 0; at < kQueries && at < there; at += kStep) {
    float s[kStepPairs][2][4], dp[kStepPairs][2][4];
    uint2 kept = make_uint2(~0u, ~0u);
    if (drop.active) {
      kept = kept_keys(drop, first_query + at + lane, at + lane < there, head, first_key);
    }
    multiply_transposed<kDepth, kStepPairs, T>(s, k, queries, at / 16);
    multiply_transposed<kDepth, kStepPairs, T>(dp, v, douts, at / 16);
#pragma unroll
    for (int pair = 0; pair < kStepPairs; ++pair) {
      const int column = 16 * pair + 4 * t;
      const float4 l = *reinterpret_cast<const float4*>(log_sums + at + column);
      const float4 m = *reinterpret_cast<const float4*>(means + at + column);
      const float log_sum[4] = {l.x, l.y, l.z, l.w}, mean[4] = {m.x, m.y, m.z, m.w};
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int i = 2 * h + j % 2;
          const bool keep = (j < 2 ? kept.x : kept.y) >> (column + i) & 1u;
          const float p =
              exp2_fast(fmaf(s[pair][h][j], scale_log2, -log_sum[i] * kLog2E));
          const float slope = keep ? dp[pair][h][j] * drop.scale : 0.0f;
          s[pair][h][j] = keep ? p : 0.0f;
          dp[pair][h][j] = p * (slope - mean[i]);
        }
      }
    }
    multiply_add<kDepth, kStepPairs, T>(dv, s, douts, at / 16);
    multiply_add<kDepth, kStepPairs, T>(dk, dp, queries, at / 16);
  }
}

}  // namespace hone::kernels::cuda
