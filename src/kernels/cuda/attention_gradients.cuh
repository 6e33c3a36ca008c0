#pragma once

#include "kernels/cuda/attention_tiles.cuh"

/// This file has what the backward passes do with one tile. Words of what dropout kept lie in
/// shared memory as [groups of 32 keys][queries].
namespace hone::kernels::cuda {

/// A backward pass knows these two numbers of a query.
struct QueryFact {
  float log_sum2;  ///< the logarithm to base 2
  float mean;      ///< the probabilities' mean gradient: dout . out
};

/// The facts of a thread's two queries.
struct QueryFacts {
  QueryFact half[2];

  /// Reads 16 queries, `there` of which exist; the products are summed over the four threads of a
  /// row.
  template <int kDepth, typename T>
  __device__ __forceinline__ QueryFacts(const Rows<kDepth>& dout, const T* out, int64_t stride,
                                        const float* log_sums, int64_t heads, int there) {
    Rows<kDepth> y;
    y.template load<T>(out, stride, there);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = 0.0f;
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
#pragma unroll
        for (int j = h; j < 4; j += 2) {
          const float2 a = unpack_pair<T>(dout.a[k][j]), b = unpack_pair<T>(y.a[k][j]);
          sum += a.x * b.x + a.y * b.y;
        }
      }
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int at = lane_row() + 8 * h;
      half[h] = {at < there ? log_sums[at * heads] * kLog2E : INFINITY, sum};
    }
  }
  /// Writes the facts of the rows that exist to facts[row].
  __device__ __forceinline__ void write(QueryFact* facts, int there) const {
    if (threadIdx.x % 4 != 0) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = lane_row() + 8 * h;
      if (row < there) facts[row] = half[h];
    }
  }
};

/// The bits of what dropout kept, for a backward pass; words is null where nothing is dropped.
struct Kept {
  const uint32_t* words = nullptr;  ///< belong to the warp's 16 rows, or to its keys' group
  int stride = 0;                   ///< the distance of groups, where the rows are queries
  float scale = 1.0f;               ///< 1 / (1 - p)
};

/// Computes dq += ds * keys over a tile of which `there` keys exist, without the scale.
template <class Products, class Shared, int kKeys, int kWide, typename T, int kDepth>
__device__ __forceinline__ void query_gradient_tile(float (&dq)[kDepth / 8][4],
                                                    const Rows<kDepth>& q, const Rows<kDepth>& dout,
                                                    const QueryFacts& facts, const Kept& kept,
                                                    float scale_log2, uint32_t keys,
                                                    uint32_t values, int there) {
#pragma unroll 1
  for (int at = 0; at < kKeys && at < there; at += kWide) {
    float s[kWide / 8][4], dp[kWide / 8][4];
    Products::begin();
    Products::template transposed<Shared>(s, q, keys, at);
    Products::template transposed<Shared>(dp, dout, values, at);
    Products::finish(s, dp);
    if (there - at < kWide) mask_keys(s, there - at);
    if (kept.words) {
#pragma unroll
      for (int i = 0; i < kWide / 16; ++i) {
        const int group = i / 2, h = i % 2;
        const KeptColumns columns(kept.words[(at / 32 + group) * kept.stride + lane_row() + 8 * h]);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          columns.drop(j, dp[4 * group + j][2 * h], dp[4 * group + j][2 * h + 1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kWide / 2; ++i) {
      float& score = s[i / 4][i % 4];
      const QueryFact fact = facts.half[i % 4 / 2];
      const float p = exp2_fast(fmaf(score, scale_log2, -fact.log_sum2));
      score = p * fmaf(dp[i / 4][i % 4], kept.scale, -fact.mean);
    }
    uint32_t ds[kWide / 16][4];
    pack_rows<T>(s, ds);
    Products::begin();
    Products::template add<Shared>(dq, ds, keys, at);
    Products::finish(dq);
  }
}

/// Does nothing else with a tile's gradients of scores.
struct NoSink {
  template <int kSteps>
  __device__ __forceinline__ void operator()(int, const uint32_t (&)[kSteps][4]) const {}
};

/// Computes dk += ds^T * queries and dv += p^T * douts over a tile of which `there` queries exist;
/// dk without the scale, dv without dropout's. Facts of queries that do not exist are zeros. The
/// warp's keys start at first_key; sink(at, ds) is called for every kWide queries.
template <class Products, class Shared, int kQueries, int kWide, typename T, int kDepth,
          class Sink = NoSink>
__device__ __forceinline__ void key_gradient_tile(float (&dk)[kDepth / 8][4],
                                                  float (&dv)[kDepth / 8][4], const Rows<kDepth>& k,
                                                  const Rows<kDepth>& v, const Kept& kept,
                                                  float scale_log2, uint32_t queries,
                                                  uint32_t douts, const QueryFact* facts, int there,
                                                  int first_key, const Sink& sink = {}) {
  // The bits of the thread's two keys come to the tops of bytes 1 and 3.
  const int shift = 15 - kept_bit(first_key % 32 + lane_row());
#pragma unroll 1
  for (int at = 0; at < kQueries && at < there; at += kWide) {
    float s[kWide / 8][4], dp[kWide / 8][4];
    Products::begin();
    Products::template transposed<Shared>(s, k, queries, at);
    Products::template transposed<Shared>(dp, v, douts, at);
    Products::finish(s, dp);
#pragma unroll
    for (int j = 0; j < kWide / 8; ++j) {
      const int column = at + 8 * j + lane_column();
      const float4 both = *reinterpret_cast<const float4*>(facts + column);
      const QueryFact fact[2] = {{both.x, both.y}, {both.z, both.w}};
      uint32_t word[2] = {~0u, ~0u};
      if (kept.words) {
        const uint2 words = *reinterpret_cast<const uint2*>(kept.words + column);
        word[0] = words.x << shift;
        word[1] = words.y << shift;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int e = i % 2;
        const uint32_t mask =
            i < 2 ? spread_top_bits<0x9999>(word[e]) : spread_top_bits<0xBBBB>(word[e]);
        const float p = exp2_fast(fmaf(s[j][i], scale_log2, -fact[e].log_sum2));
        s[j][i] = masked(p, mask);
        dp[j][i] = p * fmaf(masked(dp[j][i], mask), kept.scale, -fact[e].mean);
      }
    }
    uint32_t dropped[kWide / 16][4], ds[kWide / 16][4];
    pack_rows<T>(s, dropped);
    pack_rows<T>(dp, ds);
    sink(at, ds);
    Products::begin();
    Products::template add<Shared>(dv, dropped, douts, at);
    Products::template add<Shared>(dk, ds, queries, at);
    Products::finish(dv, dk);
  }
}

/// Copies 4 or 8 bytes to shared memory asynchronously; zeros where `there` is false.
template <typename T>
__device__ __forceinline__ void copy_small_async(T* to, const T* from, bool there) {
  const int bytes = there ? static_cast<int>(sizeof(T)) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;\n" ::"r"(shared_address(to)),
               "l"(from), "r"(bytes), "n"(sizeof(T)));
}

/// Copies words of kGroups groups of keys from first_group on, and kQueries queries from `row` on,
/// of which `there` exist.
template <int kGroups, int kQueries, int kThreads>
__device__ __forceinline__ void fetch_kept(uint32_t* to, const AttentionShape& shape,
                                           const uint32_t* kept, int head, int64_t row, int there,
                                           int first_group) {
#pragma unroll
  for (int i = 0; i < kGroups * kQueries; i += kThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    if (kGroups * kQueries % kThreads != 0 && at >= kGroups * kQueries) break;
    const int group = first_group + at / kQueries, query = at % kQueries;
    const bool exists = query < there && group < kept_words(shape);
    copy_small_async(to + at, kept + (exists ? kept_at(shape, row + query, head, group) : 0),
                     exists);
  }
}

}  // namespace hone::kernels::cuda
