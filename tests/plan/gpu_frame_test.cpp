// What is said of a kernel that does not start.
#include "plan/gpu_frame.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone {
namespace {

namespace cuda = kernels::cuda;

cuda::Status refuses(const cuda::AttentionShape&, const cuda::AttentionForward&,
                     cuda::AttentionKernel, cuda::Stream) {
  return "attention heads of more than 256";
}

/// The error of a frame whose kernels are these.
std::pair<ErrorKind, std::string> complaint(const GpuFrame& frame, cuda::Status status) {
  try {
    frame.check(status);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  }
  return {ErrorKind::usage, ""};
}

TEST(GpuFrame, NamesTheKernelAndItsPartOfTheModel) {
  cuda::KernelApi api = {};
  api.attention = refuses;
  const std::string scope = "layer 3";
  GpuFrame frame;
  frame.api = &api;
  frame.step = "attention";
  const auto run = [&] {
    return complaint(frame,
                     frame.api->attention({}, {}, cuda::AttentionKernel::automatic, nullptr));
  };
  EXPECT_EQ(run(), std::pair(ErrorKind::internal,
                             std::string("CUDA: attention: attention heads of more than 256")));
  frame.scope = &scope;
  EXPECT_EQ(run().second, "CUDA: layer 3: attention: attention heads of more than 256");
  EXPECT_EQ(complaint(frame, nullptr).second, "");
}

TEST(GpuFrame, TellsWantOfMemoryApart) {
  GpuFrame frame;
  frame.step = "linear";
  EXPECT_EQ(complaint(frame, "out of memory"),
            std::pair(ErrorKind::memory, std::string("CUDA: linear: out of memory")));
}

}  // namespace
}  // namespace hone
