#pragma once

#include <string>
#include <vector>

#include "nn/packing.h"
#include "nn/parameters.h"
#include "ops/lstm.h"

namespace hone::nn {

struct LstmSizes {
  int64_t input = 0;
  int64_t hidden = 0;
  int64_t layers = 1;
  float dropout = 0;  ///< training drops so much of a layer's output before the next
  DType dtype = DType::f32;
};

/// Layers of an LSTM over packed sequences, as torch.nn.LSTM(batch_first=True) has them: its
/// parameters are called NAME.weight_ih_l0, NAME.weight_hh_l0, NAME.bias_ih_l0, NAME.bias_hh_l0.
class Lstm {
 public:
  Lstm(Parameters& parameters, const std::string& name, const LstmSizes& sizes);

  /// Gives the last layer's rows, [tokens, hidden] in x's dtype. Layers drop at the sites from
  /// `site` on.
  Value operator()(Tape& tape, Value x, const Packing& packing, uint64_t site) const;

 private:
  struct Layer {
    Weight input;
    Weight input_bias;
    ops::LstmWeights recurrent;
  };
  Isa isa_;
  float dropout_;
  std::vector<Layer> layers_;
};

}  // namespace hone::nn
