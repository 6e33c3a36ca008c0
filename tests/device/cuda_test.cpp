#include "device/cuda.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <numeric>

#include "base/error.h"

namespace hone {
namespace {

TEST(Cuda, SaysWhyThereIsNone) {
  const CudaInfo none = probe_cuda("/nowhere/libhone_cuda.so");
  EXPECT_TRUE(none.plugin.empty());
  EXPECT_NE(none.missing.find("/nowhere/libhone_cuda.so"), std::string::npos) << none.missing;
  EXPECT_TRUE(none.devices.empty());

  const std::string path = testing::TempDir() + "/not_a_plugin.so";
  std::ofstream(path) << "text";
  EXPECT_NE(probe_cuda(path).missing.find("cannot be opened"), std::string::npos);
  std::remove(path.c_str());

  const CudaInfo other = probe_cuda("libm.so.6");  // a library, but not ours
  EXPECT_NE(other.missing.find("not the CUDA plugin"), std::string::npos) << other.missing;
}

/// A machine made up of numbers.
struct Machine {
  int32_t runtime = 13000, driver = 13000, count = 1;
  int32_t major = 9, minor = 0;
  const char* missing = "";
};
Machine machine;

CudaInfo look(const Machine& made) {
  machine = made;
  CudaDeviceApi api = {};
  api.versions = [](int32_t* runtime, int32_t* driver) -> CudaStatus {
    *runtime = machine.runtime;
    *driver = machine.driver;
    return nullptr;
  };
  api.device_count = [](int32_t* count) -> CudaStatus {
    *count = machine.count;
    return nullptr;
  };
  api.device_facts = [](int32_t, CudaDeviceFacts* facts) -> CudaStatus {
    std::snprintf(facts->name, sizeof facts->name, "a GPU");
    std::snprintf(facts->missing, sizeof facts->missing, "%s", machine.missing);
    facts->major = machine.major;
    facts->minor = machine.minor;
    return nullptr;
  };
  return look_for_devices(api);
}

TEST(Cuda, JudgesMachinesInOneLine) {
  EXPECT_EQ(look({}).missing, "");
  EXPECT_EQ(look({.driver = 13010}).missing, "");
  EXPECT_EQ(look({.runtime = 13010}).missing, "");  // the major version is the same
  EXPECT_EQ(look({.driver = 12080}).missing,
            "the NVIDIA driver supports CUDA 12.8, hone was built with 13.0: a newer driver is "
            "needed");
  EXPECT_EQ(look({.driver = 0}).missing, "no NVIDIA driver is installed");
  EXPECT_EQ(look({.count = 0}).missing, "no CUDA device: the driver lists none");
  EXPECT_EQ(look({.major = 7, .minor = 5}).missing,
            "a GPU has compute capability 7.5; hone needs 8.0");
  EXPECT_EQ(look({.major = 8, .minor = 6, .missing = "no kernel image is available"}).missing,
            "a GPU has compute capability 8.6, for which this hone was not built: no kernel image "
            "is available");
}

TEST(Cuda, AsksForAGpuInOneLine) {
  if (cuda_info().missing.empty()) GTEST_SKIP() << "there is a GPU here";
  try {
    CudaBuffer buffer(16);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find(cuda_info().missing), std::string::npos);
  }
  EXPECT_THROW(use_cuda_device(0), Error);
}

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
    use_cuda_device(0);
  }
};

TEST_F(CudaDeviceTest, ListsDevices) {
  const CudaInfo& info = cuda_info();
  ASSERT_FALSE(info.devices.empty());
  const CudaDevice& device = info.devices.front();
  EXPECT_FALSE(device.name.empty());
  EXPECT_GT(device.memory_bytes, uint64_t{1} << 30);
  EXPECT_GE(device.major, 8);
  EXPECT_GE(info.driver, info.runtime / 1000 * 1000);
  EXPECT_THROW(use_cuda_device(static_cast<int>(info.devices.size())), Error);
  EXPECT_THROW(use_cuda_device(-1), Error);
}

TEST_F(CudaDeviceTest, CopiesThroughPinnedMemoryAndReplays) {
  constexpr size_t kCount = 100001;
  PinnedBuffer from(kCount * sizeof(int)), to(kCount * sizeof(int));
  CudaBuffer a(kCount * sizeof(int)), b(kCount * sizeof(int));
  CudaStream stream;
  CudaGraph graph = stream.capture([&] {
    stream.copy(a.data(), from.as<int>(), a.size());
    stream.copy(b.data(), a.data(), b.size());
    stream.copy(to.as<int>(), b.data(), b.size());
  });
  EXPECT_EQ(graph.nodes(), 3u);
  CudaEvent start, end;
  for (int round = 0; round < 3; ++round) {
    std::iota(from.as<int>(), from.as<int>() + kCount, round);
    start.record(stream);
    graph.launch(stream);
    end.record(stream);
    end.synchronize();
    EXPECT_GE(end.since(start), 0.0f);
    for (size_t i = 0; i < kCount; i += 997) ASSERT_EQ(to.as<int>()[i], int(i) + round);
  }
}

TEST_F(CudaDeviceTest, ARecordingThatFailsLeavesTheStreamUsable) {
  CudaStream stream;
  CudaBuffer buffer(64);
  EXPECT_THROW(stream.capture([&] {
    stream.fill(buffer.data(), 1, 64);
    fail(ErrorKind::internal, "stop");
  }),
               Error);
  int value = 0;
  stream.fill(buffer.data(), 1, 64);
  stream.copy(&value, buffer.data(), sizeof value);
  stream.synchronize();
  EXPECT_EQ(value, 0x01010101);
}

TEST_F(CudaDeviceTest, SaysWhatMemoryWasAskedFor) {
  const uint64_t total = cuda_info().devices.front().memory_bytes;
  try {
    CudaBuffer buffer(total * 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::memory);
    EXPECT_NE(std::string(error.what()).find(std::to_string(total * 2)), std::string::npos);
  }
  CudaBuffer small(1024);  // the next call is served
  EXPECT_NE(small.data(), nullptr);
}

}  // namespace
}  // namespace hone
