// The device of the emulation: memory, streams, events and graphs.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "device/cuda_api.h"
#include "emulated/queue.h"

namespace hone::emulated {
namespace {

using Graph = std::vector<std::function<void()>>;
struct OneStream {
  Graph* records = nullptr;
};
struct Event {
  std::chrono::steady_clock::time_point at;
};

constexpr size_t kAlignment = 256;
/// Too little for the product by which a run measures its device, which would take minutes here.
constexpr uint64_t kMemory = uint64_t{256} << 20;

OneStream* stream_of(CudaHandle handle) { return static_cast<OneStream*>(handle); }
Event* event_of(CudaHandle handle) { return static_cast<Event*>(handle); }

CudaStatus versions(int32_t* runtime, int32_t* driver) {
  *runtime = *driver = 13000;
  return nullptr;
}
CudaStatus device_count(int32_t* count) {
  *count = 1;
  return nullptr;
}
CudaStatus device_facts(int32_t, CudaDeviceFacts* facts) {
  *facts = {};
  std::snprintf(facts->name, sizeof facts->name, "emulated GPU");
  facts->memory_bytes = kMemory;
  facts->l2_bytes = 1 << 20;
  facts->major = 9;
  facts->multiprocessors = 1;
  return nullptr;
}
CudaStatus use_device(int32_t) { return nullptr; }
CudaStatus memory_info(uint64_t* free_bytes, uint64_t* total_bytes) {
  *free_bytes = *total_bytes = kMemory;
  return nullptr;
}

/// New memory holds what is no number in any dtype, so that whoever reads what nobody wrote shows.
CudaStatus allocate(size_t bytes, void** data) {
  const size_t whole = (bytes + kAlignment) / kAlignment * kAlignment;
  *data = std::aligned_alloc(kAlignment, whole);
  if (!*data) return "out of memory";
  std::memset(*data, 0xff, whole);
  return nullptr;
}
CudaStatus release(void* data) {
  std::free(data);
  return nullptr;
}
CudaStatus copy(void* to, const void* from, size_t bytes, CudaHandle stream) {
  return submit(stream, [=] { std::memcpy(to, from, bytes); });
}
CudaStatus fill(void* data, int32_t byte, size_t bytes, CudaHandle stream) {
  return submit(stream, [=] { std::memset(data, byte, bytes); });
}

CudaStatus create_stream(CudaHandle* stream) {
  *stream = new OneStream;
  return nullptr;
}
CudaStatus destroy_stream(CudaHandle stream) {
  delete stream_of(stream);
  return nullptr;
}
CudaStatus synchronize(CudaHandle stream) {
  return stream_of(stream)->records ? "the stream records a graph" : nullptr;
}
CudaStatus create_event(CudaHandle* event) {
  *event = new Event;
  return nullptr;
}
CudaStatus destroy_event(CudaHandle event) {
  delete event_of(event);
  return nullptr;
}
CudaStatus record_event(CudaHandle event, CudaHandle stream) {
  return submit(stream, [=] { event_of(event)->at = std::chrono::steady_clock::now(); });
}
CudaStatus wait_event(CudaHandle, CudaHandle) { return nullptr; }
CudaStatus synchronize_event(CudaHandle) { return nullptr; }
CudaStatus elapsed_ms(CudaHandle start, CudaHandle end, float* ms) {
  *ms = std::chrono::duration<float, std::milli>(event_of(end)->at - event_of(start)->at).count();
  return nullptr;
}

CudaStatus begin_capture(CudaHandle stream) {
  if (stream_of(stream)->records) return "the stream records a graph already";
  stream_of(stream)->records = new Graph;
  return nullptr;
}
CudaStatus end_capture(CudaHandle stream, CudaHandle* graph, uint64_t* nodes) {
  Graph* records = std::exchange(stream_of(stream)->records, nullptr);
  if (!records) return "the stream records no graph";
  *graph = records;
  *nodes = records->size();
  return nullptr;
}
CudaStatus launch_graph(CudaHandle graph, CudaHandle) {
  for (const auto& work : *static_cast<const Graph*>(graph)) work();
  return nullptr;
}
CudaStatus destroy_graph(CudaHandle graph) {
  delete static_cast<Graph*>(graph);
  return nullptr;
}

}  // namespace

Status submit(Stream stream, std::function<void()> work) {
  if (stream && stream_of(stream)->records) {
    stream_of(stream)->records->push_back(std::move(work));
  } else {
    work();
  }
  return nullptr;
}

}  // namespace hone::emulated

extern "C" const hone::CudaDeviceApi* hone_cuda_device_api() {
  using namespace hone::emulated;
  static const hone::CudaDeviceApi api = {hone::kCudaApiVersion,
                                          versions,
                                          device_count,
                                          device_facts,
                                          use_device,
                                          memory_info,
                                          allocate,
                                          release,
                                          allocate,
                                          release,
                                          copy,
                                          fill,
                                          create_stream,
                                          destroy_stream,
                                          synchronize,
                                          create_event,
                                          destroy_event,
                                          record_event,
                                          wait_event,
                                          synchronize_event,
                                          elapsed_ms,
                                          begin_capture,
                                          end_capture,
                                          launch_graph,
                                          destroy_graph};
  return &api;
}
