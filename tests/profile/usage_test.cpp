#include "profile/usage.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "device/used_gpu.h"

namespace hone::profile {
namespace {

/// A folder that stands for "/" with one processor package's counter of energy.
class FakeRoot {
 public:
  FakeRoot() {
    std::filesystem::create_directories(package_);
    std::filesystem::create_directories(package_ + "/intel-rapl:0:0");
    write_file(package_ + "/max_energy_range_uj", "1000\n");
    set(900);
  }
  ~FakeRoot() { std::filesystem::remove_all(root_); }
  void set(int microjoules) {
    write_file(package_ + "/energy_uj", std::to_string(microjoules) + "\n");
  }
  const std::string& path() const { return root_; }

 private:
  std::string root_ = testing::TempDir() + "usage_root";
  std::string package_ = root_ + "/sys/class/powercap/intel-rapl:0";
};

TEST(Usage, ReadsWhatThisProcessTakes) {
  UsageReader reader;
  const UsageSample first = reader.read();
  EXPECT_GT(first.resident_bytes, 1'000'000U);
  volatile double sum = 0;
  for (int i = 0; i < 20'000'000; ++i) sum = sum + i;
  const UsageSample second = reader.read();
  EXPECT_GT(second.seconds, first.seconds);
  EXPECT_GT(second.processor_seconds, first.processor_seconds);
  EXPECT_GT(second.busy_cores, 0);
  EXPECT_LE(second.busy_cores, 2) << "one thread was at work";
}

TEST(Usage, EnergyCountersThatBeginAgainGoOn) {
  FakeRoot root;
  UsageReader reader(WatchedGpu::own, root.path(), "no-such-library.so");
  EXPECT_EQ(reader.read().processor_joules, 0);
  root.set(950);
  EXPECT_DOUBLE_EQ(*reader.read().processor_joules, 50e-6);
  root.set(20);  // the counter went from 1000 to 0
  EXPECT_DOUBLE_EQ(*reader.read().processor_joules, 120e-6);
}

TEST(Usage, WhatTheSystemDoesNotGiveIsAbsent) {
  UsageReader reader(WatchedGpu::own, testing::TempDir() + "no_such_root", "no-such-library.so");
  const UsageSample sample = reader.read();
  EXPECT_FALSE(sample.processor_joules);
  EXPECT_FALSE(sample.disk_bytes);
  EXPECT_FALSE(sample.device_bytes);
  for (const UsageNumber& number : usage_numbers()) {
    const bool of_process = number.name == "resident_bytes" || number.name == "busy_cores";
    EXPECT_EQ(number.of(sample).has_value(), of_process) << number.name;
  }
}

/// The numbers of a GPU of HONE_FAKE_NVML, whose memory in use is its number on the bus.
std::optional<uint64_t> watched(WatchedGpu gpu) {
  return UsageReader(gpu, "", HONE_FAKE_NVML).read().device_bytes;
}

TEST(Usage, TheGpuIsTheOneThatThisProcessComputesOn) {
  UsageReader reader(WatchedGpu::own, "", HONE_FAKE_NVML);
  EXPECT_FALSE(reader.read().device_bytes) << "none is selected";
  set_used_gpu("0000:65:00.0");
  const UsageSample sample = reader.read();
  EXPECT_EQ(sample.device_bytes, 2U);
  EXPECT_EQ(sample.device_busy, 0.2);
  EXPECT_EQ(sample.device_watts, 2);
  EXPECT_EQ(sample.device_joules, 20);
  set_used_gpu("0000:17:00.0");
  EXPECT_EQ(reader.read().device_bytes, 0U);
  set_used_gpu("0000:99:00.0");
  EXPECT_FALSE(reader.read().device_bytes) << "the library does not know it";
  set_used_gpu("");
  EXPECT_FALSE(reader.read().device_bytes);
}

TEST(Usage, OfOtherProcessesTheGpuIsTheFirstVisibleOne) {
  const auto visible = [](const char* devices) {
    ::setenv("CUDA_VISIBLE_DEVICES", devices, 1);
    const auto bytes = watched(WatchedGpu::visible);
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    return bytes;
  };
  EXPECT_EQ(watched(WatchedGpu::visible), 0U);
  EXPECT_EQ(visible("2,0"), 2U);
  EXPECT_EQ(visible("GPU-1"), 1U);
  EXPECT_FALSE(visible("7"));
  EXPECT_FALSE(visible("-1"));
  EXPECT_FALSE(visible("")) << "empty means the processor";
}

TEST(Usage, CudasDevicesAreKnownByTheirBus) {
  EXPECT_EQ(gpu_bus_id(0, HONE_FAKE_NVML), "0000:65:00.0") << "CUDA counts in another order";
  EXPECT_EQ(gpu_bus_id(3, HONE_FAKE_NVML), "");
  EXPECT_EQ(gpu_bus_id(0, "no-such-library.so"), "");
}

TEST(UsageSampler, SamplesUntilItIsStopped) {
  UsageSampler sampler(1e-3);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const std::vector<UsageSample> samples = sampler.stop();
  ASSERT_GE(samples.size(), 2U);
  for (size_t i = 1; i < samples.size(); ++i) {
    EXPECT_GE(samples[i].seconds, samples[i - 1].seconds);
  }
}

}  // namespace
}  // namespace hone::profile
