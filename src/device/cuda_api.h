#pragma once

#include <cstddef>
#include <cstdint>

/// The table of what the CUDA plugin (libhone_cuda.so) offers for devices has plain types, so that
/// nothing else of hone sees a header of CUDA. It grows at its end; a change of anything else
/// raises the version.
namespace hone {

/// A status is null where the call succeeded, otherwise what went wrong, in CUDA's words: a static
/// string.
using CudaStatus = const char*;
using CudaHandle = void*;  ///< a stream, event or graph of CUDA's; a null stream is the default one

struct CudaDeviceFacts {
  char name[256];
  char missing[512];  ///< CUDA's words, where kernels of this build do not load; empty: they do
  uint64_t memory_bytes;
  uint64_t l2_bytes;
  int32_t major;  ///< compute capability
  int32_t minor;
  int32_t multiprocessors;
};

constexpr uint32_t kCudaApiVersion = 1;

struct CudaDeviceApi {
  uint32_t version;  ///< kCudaApiVersion
  /// Gives the plugin's runtime and what the driver supports, as 1000 * major + 10 * minor; driver
  /// 0: none is installed.
  CudaStatus (*versions)(int32_t* runtime, int32_t* driver);
  CudaStatus (*device_count)(int32_t* count);
  CudaStatus (*device_facts)(int32_t device, CudaDeviceFacts* facts);
  /// Selects the device of the calling thread.
  CudaStatus (*use_device)(int32_t device);
  CudaStatus (*memory_info)(uint64_t* free_bytes, uint64_t* total_bytes);

  CudaStatus (*allocate)(size_t bytes, void** data);
  CudaStatus (*release)(void* data);
  CudaStatus (*allocate_pinned)(size_t bytes, void** data);
  CudaStatus (*release_pinned)(void* data);
  /// Copies; either side may be host memory, and the copy is asynchronous to the host where that is
  /// pinned.
  CudaStatus (*copy)(void* to, const void* from, size_t bytes, CudaHandle stream);
  CudaStatus (*fill)(void* data, int32_t byte, size_t bytes, CudaHandle stream);

  CudaStatus (*create_stream)(CudaHandle* stream);
  CudaStatus (*destroy_stream)(CudaHandle stream);
  /// Waits; errors of earlier kernels come out here.
  CudaStatus (*synchronize)(CudaHandle stream);
  CudaStatus (*create_event)(CudaHandle* event);
  CudaStatus (*destroy_event)(CudaHandle event);
  CudaStatus (*record_event)(CudaHandle event, CudaHandle stream);
  CudaStatus (*wait_event)(CudaHandle event, CudaHandle stream);  ///< the stream waits
  CudaStatus (*synchronize_event)(CudaHandle event);              ///< the host waits
  CudaStatus (*elapsed_ms)(CudaHandle start, CudaHandle end, float* ms);

  CudaStatus (*begin_capture)(CudaHandle stream);
  /// Ends a capture, one that failed too.
  CudaStatus (*end_capture)(CudaHandle stream, CudaHandle* graph, uint64_t* nodes);
  CudaStatus (*launch_graph)(CudaHandle graph, CudaHandle stream);
  CudaStatus (*destroy_graph)(CudaHandle graph);
};

}  // namespace hone
