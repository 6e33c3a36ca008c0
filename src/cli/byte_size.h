#pragma once

#include <cstdint>
#include <string>

namespace hone::cli {

/// Reads "5GB", "200MB", "1GiB", "4096", as transformers reads them. Zero and other units are a
/// usage error that names the flag.
uint64_t parse_bytes(const char* flag, const std::string& given);

}  // namespace hone::cli
