#pragma once

#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/gemm.h"

namespace hone::kernels {

/// One layer of an LSTM over packed sequences. Gates lie in PyTorch's order: input, forget, cell,
/// output, `hidden` columns each.
struct LstmShape {
  const int32_t* offsets = nullptr;  ///< [sequences + 1], the rows of each sequence
  int64_t sequences = 0;
  int64_t hidden = 0;
  PackedMatrix weight;  ///< weight_hh [4 * hidden, hidden] in the dtype of the rows
};

/// h(t) = o tanh(c(t)), c(t) = f c(t - 1) + i g, where the gates are x(t) + bias + weight h(t - 1)
/// behind sigmoid (i, f, o) and tanh (g). A sequence begins with zeros.
template <typename T>
struct LstmForward {
  const T* x = nullptr;                  ///< [tokens, 4 * hidden], the input's share of the gates
  const Accumulator<T>* bias = nullptr;  ///< [4 * hidden], or null
  T* h = nullptr;                        ///< [tokens, hidden]
  T* gates = nullptr;               ///< [tokens, 4 * hidden] behind their functions; null: not kept
  Accumulator<T>* cells = nullptr;  ///< [tokens, hidden]; null where gates is
};

template <typename T>
struct LstmBackward {
  const T* dh = nullptr;
  const T* h = nullptr;
  const T* gates = nullptr;
  const Accumulator<T>* cells = nullptr;
  T* dx = nullptr;      ///< [tokens, 4 * hidden] (=)
  T* before = nullptr;  ///< [tokens, hidden] (=): h of the row before, 0 in a sequence's first
};

/// Gives the bytes of scratch (aligned to 64) of either pass.
size_t lstm_workspace(const LstmShape& shape, int threads);

/// The functions below compute nothing but the sequences' own rows. A sequence's bits depend on its
/// rows and the weight alone. Sequences of nearly one length run together, and those that are at
/// their end leave. T is float, bf16 or double.
template <typename T>
void lstm_forward(const LstmShape& shape, const LstmForward<T>& args, void* workspace,
                  ThreadPool& pool);
template <typename T>
void lstm_backward(const LstmShape& shape, const LstmBackward<T>& args, void* workspace,
                   ThreadPool& pool);

}  // namespace hone::kernels
