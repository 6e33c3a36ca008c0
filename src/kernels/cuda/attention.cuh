#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/dropout.cuh"

namespace hone::kernels::cuda {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.6931471805599453f;

/// One sequence's rows; of the sequence behind the last, the rows that belong to none.
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

/// The dropout of a probability: kernels/cpu/attention.h's attention_channel(), in fours.
__device__ __forceinline__ uint32_t attention_quad(int head, int key) {
  return static_cast<uint32_t>(head) << 18 | static_cast<uint32_t>(key) >> 2;
}

/// What dropout kept of a query's probabilities: words of 32 keys, [q_rows][heads][kept_words].
__host__ __device__ inline int64_t kept_words(const AttentionShape& shape) {
  return (shape.longest_k + 31) / 32;
}
__device__ __forceinline__ int64_t kept_at(const AttentionShape& shape, int64_t row, int head,
                                           int key) {
  return (row * shape.heads + head) * kept_words(shape) + key / 32;
}

Status attention_plain(const AttentionShape& shape, const AttentionForward& arrays, Stream stream);
Status attention_flash(const AttentionShape& shape, const AttentionForward& arrays, Stream stream);
Status attention_backward_plain(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream);
Status attention_backward_flash(const AttentionShape& shape, const AttentionBackward& arrays,
                                void* workspace, Stream stream);
/// Sequences of at most kWholeSequence queries and keys, one block each for a head.
constexpr int64_t kWholeSequence = 128;
Status attention_backward_whole(const AttentionShape& shape, const AttentionBackward& arrays,
                                Stream stream);

/// Whether the tensor-core kernels take these heads: size, dtype and alignment.
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
