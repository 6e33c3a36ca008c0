#pragma once

#include <vector>

#include "base/file.h"
#include "io/weights.h"

namespace hone::io {

/// Reads the tensors of the state dict in a file of torch.save: the top-level dict, or the one
/// under "state_dict", "model_state_dict" or "model" there, or the only nested dict that holds
/// tensors. Entries that are not tensors are passed over.
std::vector<TensorInfo> read_torch_file(const InputFile& file);

}  // namespace hone::io
