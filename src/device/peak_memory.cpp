#include <fstream>
#include <string>

#include "device/memory.h"

namespace hone {
namespace {

uint64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  }
  return 0;
}

}  // namespace

uint64_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

uint64_t resident_bytes() { return status_bytes("VmRSS:"); }

}  // namespace hone
