#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/attention_dropout.h"
#include "tensor/dtype.h"

namespace hone::kernels {

/// Packed sequences: rows q_offsets[s] to q_offsets[s + 1] of the queries attend to all rows
/// k_offsets[s] to k_offsets[s + 1] of the keys and values. The two are the same array for an
/// ordinary layer; a last layer has queries only for the rows that are read.
struct AttentionShape {
  const int32_t* q_offsets;  ///< [sequences + 1]
  const int32_t* k_offsets;  ///< [sequences + 1]
  int64_t sequences;
  int64_t heads;
  int64_t head_size;  ///< 1 to kMaxHeadSize
  float scale;        ///< factor of the scores, positive: 1 / sqrt(head_size)
};
constexpr int64_t kMaxHeadSize = 256;

/// Head h of row i starts at data + i * stride + h * head_size; strides count elements.
template <typename T>
struct HeadRows {
  const T* data;
  int64_t stride;
};

/// BERT's relative positions: before scaling, score(i, j) += q_i . E[i - j + positions - 1], and
/// + k_j . E[same] for "relative_key_query". Computed plainly, a few times slower than without.
template <typename Table>
struct RelativePositionsOf {
  const Table* distances = nullptr;      ///< E [2 * positions - 1, head_size]; null: none
  int64_t positions = 0;                 ///< above the longest sequence's last position
  bool with_keys = false;                ///< relative_key_query
  const int32_t* q_positions = nullptr;  ///< [query rows], places in sequence; null: 0, 1, ...
};
using RelativePositions = RelativePositionsOf<float>;

/// Gives the bytes of scratch, aligned to 64, that attention() needs, whatever the lengths.
size_t attention_workspace(int64_t sequences, int64_t head_size, int threads);

/// out [query rows, heads * head_size] (dense) = softmax(scale q k^T) v for each sequence and head,
/// both directions, by tiles: no buffer grows with the length. Where log_sums is given, it becomes
/// the log of the sum of e^score, fp32 [query rows, heads], for a backward pass. Queries of a
/// sequence without keys give zeros (and -inf). out overlaps no input.
/// Dropout falls on the probabilities, behind the softmax: its rows are the query rows, and keys
/// are numbered in their sequence (attention_dropout.h). Sums are fp32. So are products, but for
/// bf16 where has_bf16_pairs() with an even head size, or by AMX with one that is a multiple of 32,
/// where the weights are rounded to bf16. A sequence's bits depend on its own rows alone: on
/// neither the batch, the thread count, nor which of its queries are asked for.
///
/// Measured on Zen 4 (fp32 peak 116 GFLOP/s a core) by bench/attention_bench, processor time of one
/// thread, 12 heads of 64, packing and softmax included: length 128 in 0.57 ms (88 GFLOP/s, 76% of
/// peak; bf16 0.33 ms), length 512 in 8.8 ms (bf16 5.1 ms), 32 sequences of length 7 in 0.24 ms
/// (bf16 0.16 ms); AVX2 takes up to 7% longer.
///
/// (In, Out) is (float, float), (bf16, bf16) or (bf16, float).
template <typename In, typename Out>
void attention(const AttentionShape& shape, HeadRows<In> q, HeadRows<In> k, HeadRows<In> v,
               const RelativePositions& relative, Out* out, float* log_sums, void* workspace,
               ThreadPool& pool, const Dropout& dropout = {});

/// Computes attention in double, plainly, for gradient checks.
void attention(const AttentionShape& shape, HeadRows<double> q, HeadRows<double> k,
               HeadRows<double> v, const RelativePositionsOf<double>& relative, double* out,
               double* log_sums, ThreadPool& pool, const Dropout& dropout = {});

}  // namespace hone::kernels
