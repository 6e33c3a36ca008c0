#pragma once

#include "base/function_ref.h"
#include "nn/parameters.h"

namespace hone::models {

/// Elements a row of a parameter has in a checkpoint: a vector's rows are its elements.
inline int64_t row_width(const nn::Parameter& parameter) {
  return parameter.kind == nn::ParameterKind::vector ? 1 : parameter.weight.width;
}

/// Rows a parameter has in a checkpoint, those of all its tensors together.
inline int64_t row_count(const nn::Parameter& parameter) {
  return parameter.weight.rows * parameter.weight.width / row_width(parameter);
}

/// An array that lies as a parameter does: its weights, or one of an optimiser's moments.
struct PackedArray {
  Isa isa;
  DType dtype;
  void* data;
};
struct ConstPackedArray {
  Isa isa;
  DType dtype;
  const void* data;
};

/// Fills such an array piece by piece. `read` gives fp32 rows [first, first + count); it is called
/// in order, for small pieces.
void store_rows(const nn::Parameter& parameter, const PackedArray& to,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read);
/// The same for the weights of an allocated parameter.
void store_rows(nn::Parameters& parameters, const nn::Parameter& parameter,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read);

/// Rows [first, first + count) alone, row-major fp32. Of a matrix, `first` and `count` are as
/// kernels::pack_rows wants them.
void store_rows(const nn::Parameter& parameter, const PackedArray& to, const float* rows,
                int64_t first, int64_t count);

/// The way back: gives rows [begin, end) of an array in order, in small pieces of row-major fp32.
void read_rows(const nn::Parameter& parameter, const ConstPackedArray& from, int64_t begin,
               int64_t end,
               FunctionRef<void(int64_t first, int64_t count, const float* rows)> write);

}  // namespace hone::models
