#pragma once

#include <cstdint>

#include "base/file.h"
#include "io/weights.h"

namespace hone::io {

/// Gives row-major strides in elements.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape);

/// Gathers elements [first, first + count) in row-major order of a tensor whose place has strides,
/// in its own dtype. The file is read in the order in which the elements lie there.
void read_strided(const InputFile& file, const TensorInfo& tensor, int64_t first, int64_t count,
                  void* out);

}  // namespace hone::io
