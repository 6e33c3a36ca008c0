#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nn/parameters.h"
#include "ops/linear.h"

namespace hone::nn {

/// A linear layer, or several of one input size stacked along their outputs.
class Linear {
 public:
  /// `modules` are checkpoint names without ".weight" and ".bias"; `out` is their outputs together.
  Linear(Parameters& parameters, const std::vector<std::string>& modules, int64_t out, int64_t in,
         DType dtype)
      : isa_(parameters.isa()) {
    std::vector<std::string> weights;
    std::vector<std::string> biases;
    for (const std::string& module : modules) {
      weights.push_back(module + ".weight");
      biases.push_back(module + ".bias");
    }
    weight_ = parameters.matrix(std::move(weights), out, in, dtype);
    bias_ = parameters.vector(std::move(biases), out);
  }

  Value operator()(Tape& tape, Value x, const ops::LinearOptions& options = {}) const {
    return ops::linear(tape, x, weight_, bias_, isa_, options);
  }

 private:
  Isa isa_;
  Weight weight_;
  Weight bias_;
};

}  // namespace hone::nn
