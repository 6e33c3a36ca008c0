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
  bool exists[2] = {false, false};

  __device__ __forceinline__ RowDropper(const Dropout& dropout, int64_t row, int there)
      : drop(dropout) {
    if (!drop.active) return;
    const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = lane / 4 + 8 * half;
      exists[half] = i < there;
      if (!exists[half]) continue;
      sample[half] = static_cast<uint64_t>(drop.samples[row + i]);
      position[half] = static_cast<uint32_t>(drop.positions[row + i]);
    }
  }

  /// Bits of the 32 keys from first_key on, of which the thread's are at 16 * pair + 4 * (lane % 4):
  /// drawn for those alone.
  __device__ __forceinline__ void draw(int head, int first_key, uint32_t (&kept)[2]) const {
    const int t = static_cast<int>(threadIdx.x % 4);
    PhiloxCounter draws[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t quad = attention_quad(head, first_key + 16 * (i / 2) + 4 * t);
      draws[i] = Dropper::counter(sample[i % 2], position[i % 2], quad);
    }
    uint32_t bits[4];
    drop.keep(draws, bits);
    kept[0] = (bits[0] | bits[2] << 16) << 4 * t;
    kept[1] = (bits[1] | bits[3] << 16) << 4 * t;
  }
};

/// The same in a backward pass, from memory. Scales are 1 where nothing is dropped.
struct KeptRows {
  const uint32_t* words[2] = {nullptr, nullptr};  ///< of the two rows; null: zeros, or no dropout
  float scale = 1.0f;
  bool active = false;

  __device__ __forceinline__ KeptRows(const AttentionShape& shape, const AttentionBackward& a,
                                      int64_t row, int head, int there) {
    active = a.dropout.p > 0.0f;
    if (!active) return;
    scale = 1.0f / (1.0f - a.dropout.p);
    const int mine = static_cast<int>(threadIdx.x % 32) / 4;
    if (mine < there) words[0] = a.kept + kept_at(shape, row + mine, head, 0);
    if (mine + 8 < there) words[1] = a.kept + kept_at(shape, row + mine + 8, head, 0);
  }
  __device__ __forceinline__ void read(int first_key, uint32_t (&kept)[2]) const {
    kept[0] = words[0] ? words[0][first_key / 32] : 0u;
    kept[1] = words[1] ? words[1][first_key / 32] : 0u;
  }
};

/// Zeros what is dropped of 32 keys, pairs `first` and first + 1 of p; the rest is not scaled.
template <int kPairs>
__device__ __forceinline__ void drop_step(float (&p)[kPairs][2][4], int first,
                                          const uint32_t (&kept)[2]) {
  const int t = static_cast<int>(threadIdx.x % 4);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint32_t mine = kept[half] >> 4 * t;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int pair = first + i / 4, j = i % 4;
      float& value = p[pair][j / 2][2 * half + j % 2];
      value = mine >> (16 * (i / 4) + j) & 1u ? value : 0.0f;
    }
  }
}

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
                                                    const KeptRows& kept_rows, float scale_log2,
                                                    uint32_t keys, uint32_t values, int there,
                                                    int first_key) {
#pragma unroll 1
  for (int at = 0; at < kKeys && at < there; at += kStep) {
    float s[kStepPairs][2][4], dp[kStepPairs][2][4];
    multiply_transposed<kDepth, kStepPairs, T>(s, q, keys, at / 16);
    multiply_transposed<kDepth, kStepPairs, T>(dp, dout, values, at / 16);
    if (there - at < kStep) mask_keys(s, there - at);
    if (kept_rows.active) {
      uint32_t kept[2];
      kept_rows.read(first_key + at, kept);
      drop_step(dp, 0, kept);
    }
#pragma unroll
    for (int pair = 0; pair < kStepPairs; ++pair) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float p = exp2_fast(fmaf(s[pair][h][j], scale_log2, -facts.log_sum2[j / 2]));
          s[pair][h][j] = p * (dp[pair][h][j] * kept_rows.scale - facts.mean[j / 2]);
        }
      }
    }
    multiply_add<kDepth, kStepPairs, T>(dq, s, keys, at / 16);
  }
}

/// What is kept of a warp's 16 keys (rows) under kStep queries (bits): for the thread's two keys.
/// Lane l reads the word of query l; null where that does not exist.
__device__ __forceinline__ uint2 kept_keys(const uint32_t* kept, int first_key) {
  const int mine = static_cast<int>(threadIdx.x % 32) / 4;
  const uint32_t word = kept ? *kept >> first_key % 32 : 0u;
  uint2 result = make_uint2(0u, 0u);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t low = __ballot_sync(0xffffffffu, word >> i & 1u);
    const uint32_t high = __ballot_sync(0xffffffffu, word >> (i + 8) & 1u);
    if (i == mine) result = make_uint2(low, high);
  }
  return result;
}

/// What dropout kept of a warp's keys, for a tile of queries: the word of its first query, and how
/// far it is to the next. Null: nothing is dropped.
struct KeptTile {
  const uint32_t* words = nullptr;
  int64_t stride = 0;
  float scale = 1.0f;

  __device__ __forceinline__ KeptTile(const AttentionShape& shape, const AttentionBackward& a,
                                      int64_t first_query, int head, int first_key) {
    if (a.dropout.p == 0.0f) return;
    words = a.kept + kept_at(shape, first_query, head, first_key);
    stride = shape.heads * kept_words(shape);
    scale = 1.0f / (1.0f - a.dropout.p);
  }
};

/// dk += ds^T * queries and dv += p^T * douts over a tile of which `there` queries exist; dk without
/// the scale, dv without dropout's. log_sums (natural) and means of the tile are in shared memory,
/// zeros where a query does not exist.
template <int kQueries, int kDepth, typename T>
__device__ __forceinline__ void key_gradient_tile(float (&dk)[kDepth / 8][4],
                                                  float (&dv)[kDepth / 8][4],
                                                  const Rows<kDepth>& k, const Rows<kDepth>& v,
                                                  const KeptTile& kept_tile, float scale_log2,
                                                  uint32_t queries, uint32_t douts,
                                                  const float* log_sums, const float* means,
                                                  int there, int first_key) {
  const int lane = static_cast<int>(threadIdx.x % 32), t = lane % 4;
#pragma unroll 1
  for (int at = 0; at < kQueries && at < there; at += kStep) {
    float s[kStepPairs][2][4], dp[kStepPairs][2][4];
    uint2 kept = make_uint2(~0u, ~0u);
    if (kept_tile.words) {
      const bool exists = at + lane < there;
      kept = kept_keys(exists ? kept_tile.words + (at + lane) * kept_tile.stride : nullptr,
                       first_key);
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
          const float slope = keep ? dp[pair][h][j] * kept_tile.scale : 0.0f;
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
