#pragma once

#include "autograd/tape.h"
#include "device/cpu_info.h"

namespace hone::ops {

struct LstmWeights {
  Weight recurrent;  ///< weight_hh, a packed matrix [4 * hidden, hidden]
  Weight bias;       ///< bias_hh [1, 4 * hidden], or absent
};

/// Runs the recurrence of one LSTM layer over packed sequences: x is [tokens, 4 * hidden], the
/// input's share of the gates (a linear layer's output) in PyTorch's order: input, forget, cell,
/// output. Gives h, [tokens, hidden] in x's dtype. `offsets` are int32, one more than there are
/// sequences. Training keeps the gates and, in fp32, the cells. Backward adds (+=) to the gradients
/// of the weights. In training x may be bf16 or fp16 beside a weight in fp32, as in linear().
Value lstm(Tape& tape, Value x, const LstmWeights& weights, Value offsets, Isa isa);

}  // namespace hone::ops
