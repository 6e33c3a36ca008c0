#pragma once

#include <functional>

#include "kernels/cuda/launch.h"

/// A GPU that is none: a plugin of hone's whose device memory is the host's and whose kernels are
/// plain loops. Plans for a GPU run on it to the last address, with graphs, on any machine. It says
/// nothing of the kernels of the real plugin, which their own tests compare with sums in double.
namespace hone::emulated {

using kernels::cuda::Status;
using kernels::cuda::Stream;

/// Runs work at once, or keeps it for the graph that the stream records. What it reads beside
/// device memory it holds itself.
Status submit(Stream stream, std::function<void()> work);

}  // namespace hone::emulated
