#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "fuzz/memory_file.h"
#include "io/weights.h"

namespace hone {

/// Opens the bytes as weights. A refusal must be one line; what is accepted must be readable, not
/// larger than the file, and the same in parts as in one piece.
inline void check_weights(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  try {
    const auto weights = io::Weights::open(file.path());
    for (const io::TensorInfo& tensor : weights->tensors()) {
      const size_t elements = static_cast<size_t>(tensor.elements);
      if (tensor.elements < 0 || elements * dtype_size(tensor.dtype) > size) std::abort();
      if (weights->find(tensor.name) != &tensor) std::abort();
      std::vector<float> whole(elements + 1);
      weights->read(tensor, 0, tensor.elements, whole.data());
      const int64_t half = tensor.elements / 2;
      std::vector<float> parts(elements + 1);
      weights->read(tensor, 0, half, parts.data());
      weights->read(tensor, half, tensor.elements - half, parts.data() + half);
      if (std::memcmp(whole.data(), parts.data(), elements * sizeof(float)) != 0) std::abort();
    }
  } catch (const Error& error) {
    if (std::string(error.what()).find('\n') != std::string::npos) std::abort();
    if (error.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace hone
