#include "comm/nccl.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "device/cuda.h"

namespace hone::comm {
namespace {

TEST(Nccl, WithoutItSumsOfDevicesAreOneError) {
  if (nccl_info().missing.empty()) GTEST_SKIP() << "there is NCCL here";
  Communicator alone;
  try {
    const NcclSums sums(alone);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_TRUE(std::string(error.what()).starts_with("NCCL cannot be used: "));
  }
}

TEST(Nccl, GpuSumsOfOneRankAreItsOwn) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  if (!nccl_info().missing.empty()) GTEST_SKIP() << "no NCCL: " << nccl_info().missing;
  EXPECT_GE(nccl_info().version, 20000);
  use_cuda_device(0);
  Communicator alone;
  NcclSums sums(alone);
  const std::vector<float> values = {1, 2, 3, 4};
  const CudaBuffer data(values.size() * sizeof(float));
  CudaStream& stream = cuda_stream();
  stream.copy(data.data(), values.data(), data.size());
  sums.start(data.as<float>(), std::ssize(values), stream.handle());
  std::vector<float> back(values.size());
  stream.copy(back.data(), data.data(), data.size());
  stream.synchronize();
  sums.check();
  EXPECT_EQ(back, values);
}

}  // namespace
}  // namespace hone::comm
