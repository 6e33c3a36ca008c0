#include "device/cuda.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/error.h"
#include "device/used_gpu.h"

namespace hone {

void cuda_check(CudaStatus status, const char* what) {
  if (!status) return;
  const bool memory = std::strstr(status, "out of memory") != nullptr;
  fail(memory ? ErrorKind::memory : ErrorKind::internal, "CUDA: {}: {}", what, status);
}

void use_cuda_device(int device) {
  const CudaDeviceApi& api = cuda_api();
  const auto& devices = cuda_info().devices;
  if (device < 0 || device >= static_cast<int>(devices.size())) {
    fail(ErrorKind::usage, "device: cuda:{}: there are {} CUDA devices", device, devices.size());
  }
  const CudaDevice& found = devices[static_cast<size_t>(device)];
  if (!found.missing.empty()) {
    fail(ErrorKind::unsupported, "device: cuda:{}: {}", device, found.missing);
  }
  cuda_check(api.use_device(device), "selecting a device");
  set_used_gpu(gpu_bus_id(device));
}

int cuda_index(const std::string& name) {
  if (name == "auto" || name == "cpu") return -1;
  const std::string digits = name.starts_with("cuda:") ? name.substr(5) : name == "cuda" ? "0" : "";
  int index = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || index < 0) {
    fail(ErrorKind::usage, "device: expected auto, cpu, cuda or cuda:N, got {}", quote(name));
  }
  return index;
}

bool select_device(const std::string& name) {
  const int index = cuda_index(name);
  if (name == "cpu") return false;
  const CudaInfo& info = cuda_info();
  if (index >= 0) {
    if (!info.missing.empty()) {
      fail(ErrorKind::unsupported, "device: {}: {}", quote(name), info.missing);
    }
    use_cuda_device(index);
    return true;
  }
  if (!info.missing.empty()) return false;
  for (const CudaDevice& device : info.devices) {
    if (!device.missing.empty()) continue;
    use_cuda_device(device.index);
    return true;
  }
  return false;
}

CudaBuffer::CudaBuffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  const CudaDeviceApi& api = cuda_api();
  if (const CudaStatus status = api.allocate(bytes, &data_)) {
    uint64_t free_bytes = 0, total = 0;
    if (api.memory_info(&free_bytes, &total)) cuda_check(status, "allocating memory");
    fail(ErrorKind::memory, "GPU memory: {} bytes were asked for, {} of {} are free: {}", bytes,
         free_bytes, total, status);
  }
}

CudaBuffer::~CudaBuffer() {
  if (data_) cuda_api().release(data_);
}

PinnedBuffer::PinnedBuffer(size_t bytes) : size_(bytes) {
  if (bytes > 0) cuda_check(cuda_api().allocate_pinned(bytes, &data_), "allocating pinned memory");
}

PinnedBuffer::~PinnedBuffer() {
  if (data_) cuda_api().release_pinned(data_);
}

CudaStream::CudaStream() { cuda_check(cuda_api().create_stream(&handle_), "creating a stream"); }

CudaStream::~CudaStream() {
  if (handle_) cuda_api().destroy_stream(handle_);
}

CudaStream& cuda_stream() {
  static CudaStream* stream = new CudaStream;  // the driver may be gone before a static is
  return *stream;
}

void CudaStream::copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) cuda_check(cuda_api().copy(to, from, bytes, handle_), "copying");
}

void CudaStream::fill(void* data, int byte, size_t bytes) {
  if (bytes > 0) cuda_check(cuda_api().fill(data, byte, bytes, handle_), "filling memory");
}

void CudaStream::synchronize() { cuda_check(cuda_api().synchronize(handle_), "running kernels"); }

void CudaStream::begin_capture() {
  cuda_check(cuda_api().begin_capture(handle_), "starting to record a graph");
}

CudaGraph CudaStream::end_capture() {
  CudaHandle graph = nullptr;
  uint64_t nodes = 0;
  cuda_check(cuda_api().end_capture(handle_, &graph, &nodes), "recording a graph");
  return {graph, nodes};
}

void CudaStream::abandon_capture() noexcept {
  CudaHandle graph = nullptr;
  uint64_t nodes = 0;
  if (!cuda_api().end_capture(handle_, &graph, &nodes)) cuda_api().destroy_graph(graph);
}

CudaGraph::~CudaGraph() {
  if (handle_) cuda_api().destroy_graph(handle_);
}

void CudaGraph::launch(CudaStream& stream) {
  cuda_check(cuda_api().launch_graph(handle_, stream.handle()), "replaying a graph");
}

CudaEvent::CudaEvent() { cuda_check(cuda_api().create_event(&handle_), "creating an event"); }

CudaEvent::~CudaEvent() {
  if (handle_) cuda_api().destroy_event(handle_);
}

void CudaEvent::record(CudaStream& stream) {
  cuda_check(cuda_api().record_event(handle_, stream.handle()), "recording an event");
}

void CudaEvent::wait(CudaStream& stream) {
  cuda_check(cuda_api().wait_event(handle_, stream.handle()), "waiting for an event");
}

void CudaEvent::synchronize() {
  cuda_check(cuda_api().synchronize_event(handle_), "running kernels");
}

float CudaEvent::since(const CudaEvent& start) const {
  float ms = 0;
  cuda_check(cuda_api().elapsed_ms(start.handle_, handle_, &ms), "reading a time");
  return ms;
}

}  // namespace hone
