#pragma once

#include "kernels/cuda/common.cuh"

/// Programmatic dependent launch: a kernel's blocks start while the kernel before them on the
/// stream still runs, and wait for its results behind what does not depend on them. Graphs keep it
/// as an edge of its own kind. On devices before compute capability 9.0 launches are plain ones.
namespace hone::kernels::cuda {

/// Waits until what kernels before this one wrote can be read. Every thread of a kernel launched by
/// launch_early() calls it, so that a kernel that has ended says the same of all before it.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the blocks of the kernel behind start when all blocks have called it. Where it is called
/// before wait_for_kernel_before(), kernels further behind may come in too.
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Says whether the current device has early launches and clusters.
inline bool has_early_launch() {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major >= 9;
}

struct LaunchShape {
  dim3 grid = {};
  unsigned threads = 0;
  size_t shared_bytes = 0;
  unsigned cluster = 1;  ///< blocks along x
};

template <typename... Parameters, typename... Arguments>
Status launch_early(void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
                    const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream_of(stream);
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {shape.cluster, 1, 1};
  config.attrs = attributes;
  config.numAttrs = has_early_launch() ? (shape.cluster > 1 ? 2 : 1) : 0;
  // Blocks of two kernels share a multiprocessor only if both cut its memory alike.
  cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                       cudaSharedmemCarveoutMaxShared);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
  const Status status = launched();  // takes the error back too, so that the next kernel is clean
  return error == cudaSuccess ? status : cudaGetErrorString(error);
}

}  // namespace hone::kernels::cuda
