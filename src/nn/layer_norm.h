#pragma once

#include <string>

#include "nn/parameters.h"
#include "ops/layer_norm.h"

namespace hone::nn {

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& module, int64_t width, double eps)
      : weight_(parameters.vector({module + ".weight"}, width)),
        bias_(parameters.vector({module + ".bias"}, width)),
        eps_(static_cast<float>(eps)) {}

  Value operator()(Plan& plan, Value x, DType out) const {
    return ops::layer_norm(plan, x, weight_, bias_, eps_, out);
  }
  Weight weight() const { return weight_; }
  Weight bias() const { return bias_; }
  float eps() const { return eps_; }

 private:
  Weight weight_;
  Weight bias_;
  float eps_;
};

}  // namespace hone::nn
