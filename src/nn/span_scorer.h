#pragma once

#include <string>

#include "nn/linear.h"
#include "ops/spans.h"

namespace hone::nn {

/// Scores the spans of a text's words as constituents, from an encoder's rows of tokens: a linear
/// layer gives each token its share in the spans beside it, a span's four shares are added and go
/// through ReLU and a second layer. The products are over tokens and over one output, so that a
/// span costs little.
class SpanScorer {
 public:
  /// Declares `module`.dense and `module`.out; a span has half as many hidden units as a token's
  /// row of `hidden`.
  SpanScorer(Parameters& parameters, const std::string& module, int64_t hidden, DType dtype);

  /// Gives the scores, [cells, 1] in fp32, of rows [tokens, hidden] in the layers' dtype, fp32.
  Value operator()(Tape& tape, Value rows, const ops::SpanInputs& spans) const;

 private:
  Linear dense_;
  Linear out_;
};

}  // namespace hone::nn
