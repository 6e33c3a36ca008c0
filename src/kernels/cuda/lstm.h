#pragma once

#include "kernels/cuda/launch.h"

namespace hone::kernels::cuda {

/// The widest layer that there is a kernel for.
constexpr int64_t kMaxLstmHidden = 2048;

/// One layer of an LSTM over packed sequences, as kernels/cpu/lstm.h describes it; gates lie in
/// PyTorch's order. Arrays have `tokens` rows, of which those behind the last sequence become 0.
struct LstmShape {
  DType dtype = DType::f32;
  int64_t sequences = 0, tokens = 0, hidden = 0;
  const int32_t* offsets = nullptr;  ///< [sequences + 1]
  const void* weight = nullptr;      ///< weight_hh [4 * hidden, hidden] in dtype
};

struct LstmForward {
  const void* x = nullptr;      ///< [tokens, 4 * hidden], the input's share of the gates
  const float* bias = nullptr;  ///< [4 * hidden], or null
  void* h = nullptr;            ///< [tokens, hidden]
  void* gates = nullptr;        ///< [tokens, 4 * hidden] behind their functions; null: not kept
  float* cells = nullptr;       ///< [tokens, hidden]; null where gates is
};
Status lstm(const LstmShape& shape, const LstmForward& args, Stream stream);

struct LstmBackward {
  const void* dh = nullptr;
  const void* h = nullptr;
  const void* gates = nullptr;
  const float* cells = nullptr;
  void* dx = nullptr;      ///< [tokens, 4 * hidden] (=)
  void* before = nullptr;  ///< [tokens, hidden] (=): h of the row before, 0 in a sequence's first
};
Status lstm_backward(const LstmShape& shape, const LstmBackward& args, Stream stream);

/// These start the kernels for layers whose weight does not fit a block's registers.
Status lstm_wide(const LstmShape& shape, const LstmForward& args, Stream stream);
Status lstm_wide_backward(const LstmShape& shape, const LstmBackward& args, Stream stream);

}  // namespace hone::kernels::cuda
