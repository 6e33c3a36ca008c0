#pragma once

#include "base/function_ref.h"
#include "nn/parameters.h"

namespace hone::models {

/// Elements a row of a parameter has in a checkpoint: a vector's rows are its elements.
inline int64_t row_width(const nn::Parameter& parameter) {
  return parameter.kind == nn::ParameterKind::vector ? 1 : parameter.weight.width;
}

/// Fills an allocated parameter piece by piece, in its packed or stored form. `read` gives fp32
/// rows [first, first + count); it is called in order, for small pieces.
void store_rows(nn::Parameters& parameters, const nn::Parameter& parameter,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read);

}  // namespace hone::models
