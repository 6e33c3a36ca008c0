#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hone/error.h"

namespace hone {

/// Gives this library's version: "1.2.3".
const char* version();

/// Something that models can run on.
struct Device {
  std::string name;   ///< the name that options take: "cpu", "cuda:0"
  std::string model;  ///< its maker's name for it
  int cores = 0;      ///< a processor's cores that the process may use; a GPU's multiprocessors
  uint64_t memory_bytes = 0;
  std::string instructions;  ///< "avx512_bf16"; of a GPU its compute capability: "9.0"
  std::string missing;       ///< why it cannot be used, in words; empty: it can
};

/// Lists the processor and all GPUs.
std::vector<Device> devices();

/// Says in words why no GPU can be used; empty where one can.
std::string missing_for_gpu();

}  // namespace hone
