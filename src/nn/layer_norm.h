#pragma once

#include <string>

#include "nn/parameters.h"
#include "ops/layer_norm.h"

namespace hone::nn {

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& module, int64_t width, double eps)
      : norm_{parameters.vector({module + ".weight"}, width),
              parameters.vector({module + ".bias"}, width), static_cast<float>(eps)} {}

  Value operator()(Tape& tape, Value x, const ops::LayerNormOptions& options) const {
    return ops::layer_norm(tape, x, norm_, options);
  }
  const ops::NormParameters& parameters() const { return norm_; }

 private:
  ops::NormParameters norm_;
};

}  // namespace hone::nn
