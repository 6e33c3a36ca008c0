#pragma once

#include "base/function_ref.h"
#include "nn/parameters.h"

namespace hone::nn {

/// Elements a row of a parameter has in a checkpoint: a vector's rows are its elements.
inline int64_t row_width(const Parameter& parameter) {
  return parameter.is_vector() ? 1 : parameter.weight.width;
}

/// Rows a parameter has in a checkpoint, those of all its tensors together.
inline int64_t row_count(const Parameter& parameter) {
  return parameter.weight.rows * parameter.weight.width / row_width(parameter);
}

/// Gives the shape that each tensor of a parameter has in a checkpoint.
std::vector<int64_t> tensor_shape(const Parameter& parameter);

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

/// Fills an array that lies as a parameter does, piece by piece. `read` gives fp32 rows [first,
/// first + count) as a checkpoint has them; it is called in order, for small pieces.
void store_rows(const Parameter& parameter, const PackedArray& to,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read);
/// Fills the weights of an allocated parameter, piece by piece.
void store_rows(Parameters& parameters, const Parameter& parameter,
                FunctionRef<void(int64_t first, int64_t count, float* out)> read);

/// Stores rows [first, first + count) alone, fp32 as a checkpoint has them. For a matrix, `first`
/// and `count` are as kernels::pack_rows wants them.
void store_rows(const Parameter& parameter, const PackedArray& to, const float* rows, int64_t first,
                int64_t count);

/// Reads rows [begin, end) of an array back in order, in small pieces of fp32 as a checkpoint has
/// them.
void read_rows(const Parameter& parameter, const ConstPackedArray& from, int64_t begin, int64_t end,
               FunctionRef<void(int64_t first, int64_t count, const float* rows)> write);

}  // namespace hone::nn
