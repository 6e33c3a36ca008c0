#pragma once

#include "kernels/cuda/dropout.h"

namespace hone::kernels::cuda {

/// Rows q_offsets[s] to q_offsets[s + 1] of the queries attend to rows k_offsets[s] to
/// k_offsets[s + 1] of the keys and values, which is kernels/cpu/attention.h's attention. The
/// offsets are in device memory and may change from replay to replay; the bounds below are of the
/// bucket. Kernels read them before the kernel ahead on the stream has ended: that kernel may not
/// write them.
struct AttentionShape {
  const int32_t* q_offsets = nullptr;  ///< [sequences + 1]
  const int32_t* k_offsets = nullptr;  ///< [sequences + 1]
  int64_t sequences = 0;
  int64_t longest_q = 0;  ///< no sequence has more queries
  int64_t longest_k = 0;  ///< no sequence has more keys
  int64_t q_rows = 0;     ///< rows of q and out; those behind the last sequence give zeros
  int64_t k_rows = 0;     ///< rows of k and v
  int64_t heads = 0;
  int64_t head_size = 0;  ///< 1 to 256; 32, 64 and 128 have tensor-core kernels in bf16 and f16
  float scale = 1.0f;     ///< multiplies the scores; positive
  DType dtype = DType::f32;
};

/// Head h of row i starts at data + i * stride + h * head_size; strides count elements.
struct HeadRows {
  const void* data = nullptr;
  int64_t stride = 0;
};
struct HeadGradients {
  void* data = nullptr;
  int64_t stride = 0;
};

/// The relative positions of kernels/cpu/attention.h, in device memory; the plain kernel alone
/// takes them.
struct RelativePositions {
  const float* distances = nullptr;      ///< [2 * positions - 1, head_size]; null: none
  int64_t positions = 0;                 ///< above the longest sequence's last position
  bool with_keys = false;                ///< relative_key_query
  const int32_t* q_positions = nullptr;  ///< [q_rows], places in their sequences; null: 0, 1, ...
};

struct AttentionForward {
  HeadRows q, k, v;
  void* out = nullptr;        ///< = [q_rows, heads * head_size], dense
  float* log_sums = nullptr;  ///< = [q_rows, heads]; null: not wanted
  Dropout dropout;            ///< drops probabilities; its rows are the queries
  uint32_t* kept = nullptr;  ///< = what dropout kept, attention_kept_words() long; null: not wanted
  RelativePositions relative;  ///< nothing is kept where it is present
};

/// Words for the bits that say which probabilities dropout kept. A backward pass reads them instead
/// of drawing again, which would take it as long as all the rest; there are 0 words where the
/// kernels for this shape draw again.
size_t attention_kept_words(const AttentionShape& shape);

/// Says which kernels may run: `automatic` chooses by shape, the others are for tests and
/// benchmarks and fail where they cannot.
enum class AttentionKernel : uint8_t { automatic, plain, flash, whole_sequence, warpgroup, few };

Status attention(const AttentionShape& shape, const AttentionForward& arrays,
                 AttentionKernel kernel, Stream stream);

struct AttentionBackward {
  HeadRows q, k, v;
  const void* out = nullptr;   ///< dense, what forward wrote
  const void* dout = nullptr;  ///< dense
  const float* log_sums = nullptr;
  Dropout dropout;
  const uint32_t* kept = nullptr;  ///< what forward wrote, where there is dropout
  RelativePositions relative;
  HeadGradients dq, dk, dv;     ///< =; overlap nothing; rows behind the last sequence become 0
  float* ddistances = nullptr;  ///< += the gradient of relative.distances; null: frozen
  /// A row of ddistances has a byte: where that is 0, so is the row's gradient, whatever lies
  /// there; it becomes 1 where the row is written.
  uint8_t* touched = nullptr;
};

/// Bytes of workspace that attention_backward() takes.
size_t attention_backward_workspace(const AttentionShape& shape);
/// Sums run in one order, without atomics.
Status attention_backward(const AttentionShape& shape, const AttentionBackward& arrays,
                          void* workspace, AttentionKernel kernel, Stream stream);

}  // namespace hone::kernels::cuda
