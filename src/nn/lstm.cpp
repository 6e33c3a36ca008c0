#include "nn/lstm.h"

#include "ops/linear.h"

namespace hone::nn {

Lstm::Lstm(Parameters& parameters, const std::string& name, const LstmSizes& sizes)
    : isa_(parameters.isa()), dropout_(sizes.dropout) {
  const int64_t gates = 4 * sizes.hidden;
  for (int64_t i = 0; i < sizes.layers; ++i) {
    const auto tensor = [&](const char* kind) {
      return std::vector{name + "." + kind + "_l" + std::to_string(i)};
    };
    const int64_t width = i == 0 ? sizes.input : sizes.hidden;
    Layer layer;
    layer.input = parameters.matrix(tensor("weight_ih"), gates, width, sizes.dtype);
    layer.input_bias = parameters.vector(tensor("bias_ih"), gates);
    layer.recurrent = {parameters.matrix(tensor("weight_hh"), gates, sizes.hidden, sizes.dtype),
                       parameters.vector(tensor("bias_hh"), gates)};
    layers_.push_back(layer);
  }
}

Value Lstm::operator()(Tape& tape, Value x, const Packing& packing, uint64_t site) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    tape.plan().set_scope("layer " + std::to_string(i));
    const Layer& layer = layers_[i];
    if (i > 0) x = ops::dropout(tape, x, packing.drop(dropout_, site + i - 1));
    const Value gates = ops::linear(tape, x, layer.input, layer.input_bias, isa_, {.out = x.dtype});
    x = ops::lstm(tape, gates, layer.recurrent, packing.offsets, isa_);
  }
  return x;
}

}  // namespace hone::nn
