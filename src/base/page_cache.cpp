#include "base/page_cache.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace hone {
namespace {

/// One page is mapped; the system brings the huge page around it, and begins with the next. Where
/// that page was there already, or the system is too old for this, it brings nothing more, and the
/// rest is asked for by single pages.
bool bring_around(const InputFile& file, uint64_t offset) {
  constexpr size_t kOnePage = 4096;
  void* page =
      mmap(nullptr, kOnePage, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(offset));
  if (page == MAP_FAILED) return false;
  unsigned char was_there = 1;
  mincore(page, kOnePage, &was_there);
  madvise(page, kOnePage, MADV_HUGEPAGE);
  const bool came = madvise(page, kOnePage, MADV_POPULATE_READ) == 0;
  munmap(page, kOnePage);
  if (!came || was_there & 1) file.will_need(offset, kHugePage);
  return came;
}

}  // namespace

/// Maps one huge page more than needed and gives the ends back.
void* map_on_huge_page(size_t bytes, int protection) {
  void* raw = mmap(nullptr, bytes + kHugePage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kHugePage - 1) / kHugePage * kHugePage;
  if (aligned > begin) munmap(raw, aligned - begin);
  const size_t tail = begin + kHugePage - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  return reinterpret_cast<void*>(aligned);
}

bool bring_to_cache(const InputFile& file, uint64_t offset, uint64_t bytes) {
  if (offset + bytes > file.size()) return false;
  bool whole = true;
  for (uint64_t at = offset / kHugePage * kHugePage; at < offset + bytes; at += kHugePage) {
    whole &= bring_around(file, at);
  }
  return whole;
}

}  // namespace hone
