#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/attention.h"

namespace hone::kernels {

/// Gradients of heads' rows, laid out as HeadRows and written to.
template <typename T>
struct HeadGradients {
  T* data;
  int64_t stride;
};

/// Holds what the backward pass reads, all as attention() read or wrote it, and what it writes.
template <typename T>
struct AttentionBackward {
  HeadRows<T> q, k, v;
  const T* out;                    ///< [query rows, heads * head_size], dense
  const T* dout;                   ///< its gradient, the same layout
  const Accumulator<T>* log_sums;  ///< [query rows, heads]
  RelativePositionsOf<Accumulator<T>> relative = {};
  Dropout dropout = {};

  HeadGradients<T> dq, dk, dv;           ///< =; beside one another, overlapping nothing
  Accumulator<T>* ddistances = nullptr;  ///< += the gradient of relative.distances; null: frozen
};

/// Bytes of scratch for a batch of so many query rows, aligned as 64 bytes. A worker touches no
/// more of its share than its longest sequence needs.
size_t attention_backward_workspace(int64_t query_rows, int64_t head_size, int threads);

/// Probabilities are computed again from q, k and log_sums, by tiles. A task is one sequence and
/// head, with all its sums in one order: no bit depends on the threads or the batch, but for
/// ddistances, which sums over the batch. Relative positions are computed plainly. Sums are fp32;
/// for bf16 where has_bf16_pairs() with an even head size, probabilities and their gradients are
/// rounded to bf16. T is float, bf16 or double.
template <typename T>
void attention_backward(const AttentionShape& shape, const AttentionBackward<T>& args,
                        void* workspace, ThreadPool& pool);
template <>
void attention_backward(const AttentionShape& shape, const AttentionBackward<double>& args,
                        void* workspace, ThreadPool& pool);

}  // namespace hone::kernels
