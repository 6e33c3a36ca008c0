#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "device/cpu_info.h"

/// One table of ops, forward and backward: the processor checks it in double against differences, a
/// GPU in every dtype against the processor.
namespace hone::ops {

/// An array the op reads; its gradient is checked unless it is an index.
struct CheckedInput {
  Axis rows;
  int64_t width;
  std::vector<double> values = {};
  std::vector<int32_t> indices = {};  ///< an int32 array instead
  Filler filler = Filler::zero;
};

/// A weight slot, row by row; matrices are packed by who runs the case.
struct CheckedWeight {
  int64_t rows;
  int64_t width;
  std::vector<double> values;
  bool matrix = false;
};

/// What a case is recorded for.
struct OpForm {
  Isa isa;
  DType dtype;
};

struct GradientCase {
  std::string name;
  Extents extents;
  std::vector<CheckedInput> inputs;
  std::vector<CheckedWeight> weights;
  /// Records the op and gives its output, in the form's dtype.
  std::function<Value(Tape&, const std::vector<Value>&, const std::vector<Weight>&, const OpForm&)>
      record;
  std::vector<size_t> frozen = {};  ///< weights without a gradient

  std::vector<bool> trainable() const {
    std::vector<bool> out(weights.size(), true);
    for (const size_t slot : frozen) out[slot] = false;
    return out;
  }
};

const std::vector<GradientCase>& gradient_cases();

}  // namespace hone::ops
