#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "device/cpu_info.h"
#include "ops/op_axes.h"

/// One table of ops, forward and backward: the processor checks it in double against differences, a
/// GPU in every dtype against the processor.
namespace hone::ops {

/// The dtype of an input's values, and whether their gradient is checked.
enum class Held {
  in_form,      ///< the dtype that the case is recorded for; the gradient is checked
  accumulator,  ///< fp32, or fp64 where the case is recorded in fp64; a constant
  f64,          ///< a constant
};

/// An array the op reads. Indices and numbers have no gradient.
struct CheckedInput {
  Axis rows;
  int64_t width;
  std::vector<double> values = {};
  std::vector<int32_t> indices = {};  ///< an int32 array instead
  Filler filler = Filler::zero;
  std::vector<int64_t> numbers = {};  ///< an int64 array instead
  Held held = Held::in_form;

  bool is_checked() const { return indices.empty() && numbers.empty() && held == Held::in_form; }
  DType dtype(DType form) const {
    if (!indices.empty()) return DType::i32;
    if (!numbers.empty()) return DType::i64;
    if (held == Held::f64) return DType::f64;
    return held == Held::accumulator && form != DType::f64 ? DType::f32 : form;
  }
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
  /// The factor of the gradient, where the output is a loss, which seeds its own gradient.
  std::optional<double> loss_scale = {};

  std::vector<bool> trainable() const {
    std::vector<bool> out(weights.size(), true);
    for (const size_t slot : frozen) out[slot] = false;
    return out;
  }
};

/// All cases; the others are parts of them.
const std::vector<GradientCase>& gradient_cases();
std::vector<GradientCase> attention_gradient_cases();
std::vector<GradientCase> dropout_gradient_cases();
std::vector<GradientCase> loss_gradient_cases();
std::vector<GradientCase> lstm_gradient_cases();
std::vector<GradientCase> image_gradient_cases();
std::vector<GradientCase> explain_gradient_cases();

}  // namespace hone::ops
