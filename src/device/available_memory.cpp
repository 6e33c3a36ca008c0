#include "device/available_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "device/cgroup.h"

namespace hone {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kKilo = 1024;

/// Reads the number behind `key` in a file of the system's, or the first one where `key` is empty;
/// gives `fallback` where there is none ("max").
uint64_t system_number(const std::string& path, const std::string& key, uint64_t fallback) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (!key.empty() && word != key) continue;
    if (!key.empty() && !(file >> word)) break;
    uint64_t value = fallback;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
  return fallback;
}

uint64_t left(uint64_t limit, uint64_t used) { return limit > used ? limit - used : 0; }

/// Gives what a control group leaves. Files that the system keeps in memory count as used there,
/// above all the weights that were just read, and make room where it is needed.
uint64_t left_in_group(const std::string& folder, bool unified) {
  const auto file = [&](const char* of_v2, const char* of_v1) {
    return folder + "/memory." + (unified ? of_v2 : of_v1);
  };
  const uint64_t limit = system_number(file("max", "limit_in_bytes"), "", kUnlimited);
  if (limit == kUnlimited) return kUnlimited;
  const uint64_t used = system_number(file("current", "usage_in_bytes"), "", 0);
  uint64_t cached = 0;
  for (const char* list : {"inactive_file", "active_file"}) {
    cached +=
        system_number(folder + "/memory.stat", (unified ? "" : "total_") + std::string(list), 0);
  }
  return left(limit, left(used, cached));
}

}  // namespace

uint64_t available_host_memory(const std::string& root) {
  const uint64_t free = system_number(root + "/proc/meminfo", "MemAvailable:", kUnlimited / kKilo);
  uint64_t available = free * kKilo;
  visit_control_groups(root, "memory", [&](const std::string& folder, bool unified) {
    available = std::min(available, left_in_group(folder, unified));
  });
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const uint64_t size = system_number(root + "/proc/self/status", "VmSize:", 0) * kKilo;
    available = std::min(available, left(limit.rlim_cur, size));
  }
  return available;
}

}  // namespace hone
