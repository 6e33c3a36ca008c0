#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "device/cgroup.h"
#include "device/cpu_info.h"

namespace hone {
namespace {

constexpr int kNoLimit = 1 << 30;

/// The threads that share a core, as "0,8": the same text for each of them.
std::string threads_of_core(const std::string& root, int cpu) {
  const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
  for (const char* name : {"/topology/core_cpus_list", "/topology/thread_siblings_list"}) {
    std::string threads;
    if (std::getline(std::ifstream(folder + name), threads)) return threads;
  }
  return std::to_string(cpu);
}

int affinity_cores(const std::string& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cores.insert(threads_of_core(root, cpu));
  }
  return std::max(1, static_cast<int>(cores.size()));
}

int quota_cores(double quota, double period) {
  if (quota <= 0 || period <= 0) return kNoLimit;
  return std::max(1, static_cast<int>(std::min(quota / period, 1e6)));
}

/// Reads cgroup v2's quota: "max 100000" or "150000 100000".
int cores_of_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period ? quota_cores(quota, period) : kNoLimit;
}

/// Reads cgroup v1's quota; -1 means that there is none.
int cores_of_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  return quota_file >> quota && period_file >> period ? quota_cores(quota, period) : kNoLimit;
}

}  // namespace

int usable_cores(const std::string& root) {
  int cores = affinity_cores(root);
  visit_control_groups(root, "cpu", [&](const std::string& folder, bool unified) {
    cores = std::min(cores, unified ? cores_of_v2(folder) : cores_of_v1(folder));
  });
  return cores;
}

}  // namespace hone
