#include "base/page_cache.h"

#include <sys/mman.h>

namespace hone {
namespace {

/// One page is mapped; the system brings the huge page around it, and begins with the next.
bool bring_around(const InputFile& file, uint64_t offset) {
  constexpr size_t kPage = 4096;
  void* page =
      mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(offset));
  if (page == MAP_FAILED) return false;
  madvise(page, kPage, MADV_HUGEPAGE);
  const bool came = madvise(page, kPage, MADV_POPULATE_READ) == 0;
  munmap(page, kPage);
  return came;
}

}  // namespace

bool bring_to_cache(const InputFile& file, uint64_t offset, uint64_t bytes) {
  for (uint64_t at = offset / kHugePage * kHugePage; at < offset + bytes; at += kHugePage) {
    if (!bring_around(file, at)) return false;
  }
  return true;
}

}  // namespace hone
