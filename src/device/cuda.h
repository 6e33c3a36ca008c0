#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda_api.h"

namespace hone {

struct CudaDevice {
  int index = 0;
  std::string name;
  std::string missing;  ///< why this build's kernels do not run there; empty: they do
  uint64_t memory_bytes = 0;
  uint64_t l2_bytes = 0;
  int major = 0;  ///< compute capability
  int minor = 0;
  int multiprocessors = 0;
};

/// Says what this machine has for CUDA.
struct CudaInfo {
  std::string plugin;   ///< the file that was opened; empty: none
  std::string missing;  ///< why nothing can run on a GPU, in words; empty: something can
  int runtime = 0;      ///< 1000 * major + 10 * minor
  int driver = 0;       ///< what the driver supports, likewise; 0: none
  std::vector<CudaDevice> devices;
};

/// Looks at the first call, which opens the plugin: HONE_CUDA_PLUGIN, or libhone_cuda.so beside the
/// program, or where the system looks for libraries. Never throws for want of a GPU.
const CudaInfo& cuda_info();

/// Judges what a plugin's functions say of this machine; the plugin's path is left out.
CudaInfo look_for_devices(const CudaDeviceApi& api);

/// Opens the plugin at `path` and looks, without keeping anything: cuda_info() does this once.
CudaInfo probe_cuda(const std::string& path);

/// Gives the open plugin's functions. Where there is none it fails with kind unsupported and
/// cuda_info().missing.
const CudaDeviceApi& cuda_api();
/// Gives a function of the open plugin, for layers below this one; null where it has none of that
/// name.
void* cuda_symbol(const char* name);

/// Throws an error of kind internal that names `what` and gives CUDA's words; its kind is memory
/// where CUDA is out of it.
void cuda_check(CudaStatus status, const char* what);

/// Selects `device` for the calling thread; fails with kind usage or unsupported where it is not
/// there or cannot run this build.
void use_cuda_device(int device);

/// Gives the number in "cuda" or "cuda:1", -1 for "auto" and "cpu". Other names are usage errors.
int cuda_index(const std::string& name);
/// Selects what "auto", "cpu", "cuda" or "cuda:1" names, and returns whether that is a GPU. "auto"
/// is the first GPU that can run this build, else the processor. Errors begin with "device".
bool select_device(const std::string& name);

constexpr size_t kCudaAlignment = 256;
/// Rounds up to the next multiple of kCudaAlignment.
constexpr size_t cuda_aligned(size_t bytes) {
  return (bytes + kCudaAlignment - 1) / kCudaAlignment * kCudaAlignment;
}

/// Device memory, uninitialised, aligned to kCudaAlignment. This class and all below need
/// cuda_info().missing to be empty.
class CudaBuffer {
 public:
  CudaBuffer() = default;
  /// Fails with kind memory, saying what was asked for and what is free.
  explicit CudaBuffer(size_t bytes);
  ~CudaBuffer();
  CudaBuffer(CudaBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  CudaBuffer& operator=(CudaBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  void* data() const { return data_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Host memory that copies run from and to while the host does something else.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

class CudaGraph;

/// An order of work on one device.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  CudaHandle handle() const { return handle_; }
  /// Copies; either side may be host memory, and the copy is asynchronous to the host only where
  /// that is pinned.
  void copy(void* to, const void* from, size_t bytes);
  void fill(void* data, int byte, size_t bytes);
  void synchronize();
  /// Records what `body` puts on this stream instead of running it.
  template <typename Body>
  CudaGraph capture(const Body& body);

 private:
  void begin_capture();
  CudaGraph end_capture();
  void abandon_capture() noexcept;

  CudaHandle handle_ = nullptr;
};

/// A recorded list of kernels and copies; the addresses and sizes in it are those of the recording.
class CudaGraph {
 public:
  ~CudaGraph();
  CudaGraph(CudaGraph&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), nodes_(other.nodes_) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(handle_, other.handle_);
    nodes_ = other.nodes_;
    return *this;
  }

  void launch(CudaStream& stream);
  uint64_t nodes() const { return nodes_; }

 private:
  friend class CudaStream;
  CudaGraph(CudaHandle handle, uint64_t nodes) : handle_(handle), nodes_(nodes) {}

  CudaHandle handle_;
  uint64_t nodes_;
};

class CudaEvent {
 public:
  CudaEvent();
  ~CudaEvent();
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void record(CudaStream& stream);
  void wait(CudaStream& stream);  ///< the stream waits, the host does not
  void synchronize();
  /// Gives milliseconds from `start` to this; both must have happened.
  float since(const CudaEvent& start) const;

 private:
  CudaHandle handle_ = nullptr;
};

/// Gives the process's own stream, made at the first call, on the device that is in use then.
CudaStream& cuda_stream();

template <typename Body>
CudaGraph CudaStream::capture(const Body& body) {
  begin_capture();
  try {
    body();
  } catch (...) {
    abandon_capture();
    throw;
  }
  return end_capture();
}

}  // namespace hone
