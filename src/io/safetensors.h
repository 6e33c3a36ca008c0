#pragma once

#include <vector>

#include "base/file.h"
#include "io/weights.h"

namespace hone::io {

/// The tensors that a safetensors file declares, after every check that the reference
/// implementation makes: header within the file, offsets in range, sizes that match dtype and
/// shape, no overlap, no hole, no name twice. `metadata` is set to `__metadata__`.
std::vector<TensorInfo> read_safetensors_header(const InputFile& file, Metadata& metadata);

}  // namespace hone::io
