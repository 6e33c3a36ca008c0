#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/memory_file.h"
#include "fuzz/refusal.h"
#include "io/weights.h"

namespace hone {

/// Opens weights of `size` bytes in all. What is accepted must be readable, not larger than its
/// files, and the same in parts as in one piece.
inline void check_weights(const std::string& path, size_t size) {
  accepts("", [&] {
    const auto weights = io::Weights::open(path);
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
  });
}

inline void check_weights(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  check_weights(file.path(), size);
}

}  // namespace hone
