#pragma once

#include <string>
#include <vector>

#include "nn/lora.h"
#include "nn/parameters.h"
#include "ops/dropout.h"
#include "ops/linear.h"

namespace hone::nn {

/// A linear layer, or several of one input size stacked along their outputs; with adapters beside
/// those that `lora` names.
class Linear {
 public:
  /// `modules` are checkpoint names without ".weight" and ".bias"; `out` is their outputs together.
  /// `lora` is read here alone, and may be null.
  Linear(Parameters& parameters, const std::vector<std::string>& modules, int64_t out, int64_t in,
         DType dtype, const LoraTargets* lora = nullptr);

  /// Applies the layer. `drop` says of which rows and at which site the first adapter drops, the
  /// next one at the next; how much is the adapters' own.
  Value operator()(Tape& tape, Value x, const ops::LinearOptions& options = {},
                   const ops::DropoutSite& drop = {}) const;

  /// Gives the layer for some of its outputs, without its bias. Its rows must lie one behind the
  /// other, as on a GPU.
  Linear outputs(int64_t first, int64_t count) const;
  Linear without_bias() const;
  const Weight& bias() const { return bias_; }

 private:
  Isa isa_;
  Weight weight_;
  Weight bias_;
  std::vector<Lora> adapters_;
  float scale_ = 1;
  float dropout_ = 0;
};

}  // namespace hone::nn
