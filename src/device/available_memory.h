#pragma once

#include <cstdint>
#include <string>

namespace hone {

/// Gives the memory that this process could still take on the host: the least of what the system
/// can give without swapping, what its control groups (versions 1 and 2, with every ancestor)
/// leave, where cached files count as free, and what its limit of address space leaves. Where
/// nothing limits it, it is more than any memory. `root` is the folder that stands for "/".
uint64_t available_host_memory(const std::string& root = "");

}  // namespace hone
