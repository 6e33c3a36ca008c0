#include "device/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "base/error.h"
#include "base/page_cache.h"

namespace hone {
namespace {

void* map_huge(size_t bytes) {
  const size_t wanted = round_up(bytes, page_bytes());
  void* data = map_on_huge_page(wanted, PROT_READ | PROT_WRITE);
  if (data == nullptr) return nullptr;
  // Only whole huge pages are advised: a part of one would be resident beyond the block's end. The
  // result is not looked at: without huge pages it is only slower.
  madvise(data, wanted / kHugePage * kHugePage, MADV_HUGEPAGE);
  return data;
}

}  // namespace

void give_freed_memory_back() {
  constexpr int kSmall = 128 << 10;
  mallopt(M_MMAP_THRESHOLD, kSmall);
  mallopt(M_TRIM_THRESHOLD, kSmall);
}

Buffer::Buffer(size_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX / 2) {
    data_ = nullptr;
  } else if (bytes >= kHugePage) {
    data_ = map_huge(bytes);
  } else {
    data_ = ::operator new(bytes, std::align_val_t(kAlignment), std::nothrow);
  }
  if (data_ == nullptr) {
    fail(ErrorKind::memory, "cannot allocate {} bytes ({:.1f} MB)", bytes,
         static_cast<double>(bytes) / 1e6);
  }
}

Buffer::~Buffer() {
  if (data_ == nullptr) return;
  if (size_ >= kHugePage) {
    munmap(data_, round_up(size_, page_bytes()));
  } else {
    ::operator delete(data_, std::align_val_t(kAlignment));
  }
}

}  // namespace hone
