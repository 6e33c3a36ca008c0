#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/dropout.cuh"

namespace hone::kernels::cuda {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

/// One sequence's rows; the one behind the last sequence has the rows that belong to none.
struct Span {
  int64_t q_first, k_first;
  int queries, keys;

  __device__ __forceinline__ Span(const AttentionShape& shape, int64_t sequence) {
    q_first = shape.q_offsets[sequence];
    k_first = shape.k_offsets[sequence];
    const bool tail = sequence == shape.sequences;
    queries = static_cast<int>((tail ? shape.q_rows : shape.q_offsets[sequence + 1]) - q_first);
    keys = static_cast<int>((tail ? shape.k_rows : shape.k_offsets[sequence + 1]) - k_first);
  }
};

/// Zeros one head of `count` rows. All threads of the block call it, block `part` of `parts`.
template <typename T>
__device__ __forceinline__ void zero_head_rows(T* rows, int64_t stride, int64_t count,
                                               int head_size, int part, int parts) {
  for (int64_t row = part; row < count; row += parts) {
    for (int i = static_cast<int>(threadIdx.x); i < head_size; i += static_cast<int>(blockDim.x)) {
      rows[row * stride + i] = from_float<T>(0.0f);
    }
  }
}

/// The share of probabilities that dropout drops, as draw_kept() takes it: bit i of round(65536 p),
/// in every bit of a word. It is a kernel parameter, so that it costs no registers.
struct DropShare {
  uint32_t bit[16];
};
inline DropShare drop_share(float p) {
  const long share = std::clamp(std::lround(p * 65536.0f), 1L, 65535L);
  DropShare result;
  for (int i = 0; i < 16; ++i) result.bit[i] = share >> i & 1 ? ~0u : 0u;
  return result;
}

/// Draws what is kept of 32 keys of a query and head: bit kept_bit(key) of
/// kernels/cpu/attention_dropout.h's kept(), before that puts the bits in order.
__device__ __forceinline__ uint32_t draw_kept(const DropShare& share, uint64_t key, uint64_t sample,
                                              uint32_t position, int head, int group) {
  const uint32_t first = static_cast<uint32_t>(head) << 16 | static_cast<uint32_t>(group) << 1;
  PhiloxCounter c[2] = {Dropper::counter(sample, position, first),
                        Dropper::counter(sample, position, first + 1)};
  philox<7>(key, c);
  const uint32_t words[8] = {c[0].c0, c[0].c1, c[0].c2, c[0].c3,
                             c[1].c0, c[1].c1, c[1].c2, c[1].c3};
  uint32_t dropped = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const uint32_t word = words[7 - i % 8];
    const uint32_t draw = i < 8 ? __funnelshift_l(word, word, 13) : word;
    dropped = (draw & share.bit[i]) | (dropped & (draw | share.bit[i]));
  }
  return ~dropped;
}

/// Gives a key's bit among 32, in the order that suits the threads of a tensor-core product.
__device__ __forceinline__ int kept_bit(int key) {
  return (key & 8) << 1 | (key & 1) << 3 | (key & 6) | (key >> 4 & 1);
}

/// Gives the words of kept bits of a row; forward writes them as [heads][kept_words][q_rows].
__host__ __device__ inline int64_t kept_words(const AttentionShape& shape) {
  return (shape.longest_k + 31) / 32;
}
__device__ __forceinline__ int64_t kept_at(const AttentionShape& shape, int64_t row, int head,
                                           int64_t group) {
  return (head * kept_words(shape) + group) * shape.q_rows + row;
}

Status attention_plain(const AttentionShape& shape, const AttentionForward& arrays, Stream stream);
Status attention_flash(const AttentionShape& shape, const AttentionForward& arrays, Stream stream);
/// Serves inference over sequences of at most kFewKeys keys, a warp for 16 queries.
constexpr int64_t kFewKeys = 64;
Status attention_few(const AttentionShape& shape, const AttentionForward& arrays, Stream stream);
Status attention_backward_plain(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream);
/// Adds to ddistances behind the plain kernels, which left dout . out in `means` [q_rows, heads].
Status distance_gradients(const AttentionShape& shape, const AttentionBackward& arrays,
                          const float* means, Stream stream);
Status attention_backward_flash(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream);
/// Takes sequences of at most kWholeSequence queries and keys, a block for each and a head.
constexpr int64_t kWholeSequence = 128;
Status attention_backward_whole(const AttentionShape& shape, const AttentionBackward& arrays,
                                Stream stream);
/// The kernels named warpgroup use wgmma, which compute capability 9.0 has and no other.
Status attention_warpgroup(const AttentionShape& shape, const AttentionForward& arrays,
                           Stream stream);
Status attention_backward_warpgroup(const AttentionShape& shape, const AttentionBackward& arrays,
                                    void* workspace, Stream stream);
/// Takes heads of at most 64.
Status attention_backward_whole_warpgroup(const AttentionShape& shape,
                                          const AttentionBackward& arrays, Stream stream);

/// Says whether the tensor-core kernels take these heads: size, dtype and alignment.
inline bool flash_heads(const AttentionShape& shape, std::initializer_list<HeadRows> rows) {
  const int64_t d = shape.head_size;
  if (shape.dtype == DType::f32 || (d != 32 && d != 64 && d != 128)) return false;
  for (const HeadRows& r : rows) {
    if (reinterpret_cast<uintptr_t>(r.data) % 16 != 0 || r.stride % 8 != 0) return false;
  }
  return true;
}

/// Calls body with null pointers' type and the head size as an integral constant.
template <typename Body>
Status by_flash_heads(const AttentionShape& shape, const Body& body) {
  const auto with_depth = [&](auto* type) -> Status {
    switch (shape.head_size) {
      case 32:
        return body(type, std::integral_constant<int, 32>());
      case 64:
        return body(type, std::integral_constant<int, 64>());
      default:
        return body(type, std::integral_constant<int, 128>());
    }
  };
  return shape.dtype == DType::bf16 ? with_depth(static_cast<__nv_bfloat16*>(nullptr))
                                    : with_depth(static_cast<__half*>(nullptr));
}

}  // namespace hone::kernels::cuda
