#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace hone {

/// Everything is aligned to a cache line, which the widest vector fills.
constexpr size_t kAlignment = 64;
/// Rounds up to the next multiple of kAlignment.
constexpr size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Owned, uninitialised bytes aligned to kAlignment. Blocks of 2 MB and more come from the system
/// directly, aligned to and advised for huge pages, and go back to it at once when freed; their
/// bytes read as zero and are resident only once written.
class Buffer {
 public:
  Buffer() = default;
  /// Fails with kind memory, saying how much was asked for, when there is not enough.
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <typename T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }
  size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// Makes all but small blocks that are freed, the allocator's too, go back to the system at once,
/// for the whole process and from now on. The allocator would keep more of them the larger the
/// blocks were that it has seen freed.
void give_freed_memory_back();

/// Gives the most memory that this process has had resident (VmHWM); 0 where the system does not
/// say.
uint64_t peak_resident_bytes();
/// Gives the memory that this process has resident now; 0 where the system does not say.
uint64_t resident_bytes();

}  // namespace hone
