#include "device/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hone {
namespace {

constexpr uint64_t kMega = 1 << 20;

/// A machine of files: what it says of its memory and of this process's groups.
class AvailableHostMemory : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    write("/proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable: 1024000 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  /// Writes what a group of version 2 has, in MB.
  void limit(const std::string& group, const std::string& most, uint64_t used,
             uint64_t cached) const {
    const std::string folder = "/sys/fs/cgroup" + group;
    write(folder + "/memory.max", most + "\n");
    write(folder + "/memory.current", std::to_string(used * kMega) + "\n");
    write(folder + "/memory.stat", "anon 5\ninactive_file " + std::to_string(cached * kMega) +
                                       "\nactive_file " + std::to_string(kMega) + "\n");
  }
  uint64_t megabytes() const { return available_host_memory(root_) / kMega; }

  std::string root_ = testing::TempDir() + "/available_memory";
};

std::string in_bytes(uint64_t megabytes) { return std::to_string(megabytes * kMega); }

TEST_F(AvailableHostMemory, IsTheSystemsWhereNoGroupLimitsIt) {
  EXPECT_EQ(megabytes(), 1000u);
  write("/proc/self/cgroup", "0::/system.slice/hone.service\n");
  limit("/system.slice/hone.service", "max", 500, 0);
  EXPECT_EQ(megabytes(), 1000u);
}

TEST_F(AvailableHostMemory, IsWhatAGroupOfVersion2LeavesWithItsCachedFiles) {
  write("/proc/self/cgroup", "0::/system.slice/hone.service\n");
  limit("/system.slice/hone.service", in_bytes(600), 500, 0);
  EXPECT_EQ(megabytes(), 101u);
  limit("/system.slice/hone.service", in_bytes(600), 500, 99);
  EXPECT_EQ(megabytes(), 200u);
  limit("/system.slice/hone.service", in_bytes(600), 700, 0);
  EXPECT_EQ(megabytes(), 0u);
}

TEST_F(AvailableHostMemory, IsTheLeastOfAllAncestors) {
  write("/proc/self/cgroup", "0::/system.slice/hone.service\n");
  limit("/system.slice/hone.service", in_bytes(600), 99, 98);
  limit("/system.slice", in_bytes(300), 200, 0);
  EXPECT_EQ(megabytes(), 101u);
  // In a container the group's own folder is the host's, and the mount is the container's.
  limit("", in_bytes(50), 20, 0);
  EXPECT_EQ(megabytes(), 31u);
}

TEST_F(AvailableHostMemory, IsWhatAGroupOfVersion1Leaves) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n");
  write("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", in_bytes(400));
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", in_bytes(300));
  write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file " +
                                                 in_bytes(20) + "\ntotal_active_file " +
                                                 in_bytes(30));
  EXPECT_EQ(megabytes(), 150u);
}

TEST_F(AvailableHostMemory, RubbishIsNoLimit) {
  write("/proc/self/cgroup", "::\nrubbish\n0::\n0::/a\n");
  write("/sys/fs/cgroup/a/memory.max", "much\n");
  EXPECT_EQ(megabytes(), 1000u);
}

}  // namespace
}  // namespace hone
