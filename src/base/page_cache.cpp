#include "base/page_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace hone {
namespace {

constexpr uint64_t kSmallPage = 4096;

std::atomic<uint64_t>& bytes_of_page() {
  static std::atomic<uint64_t> bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool in_cache(void* page) {
  unsigned char there = 0;
  return mincore(page, 1, &there) == 0 && (there & 1) != 0;
}

/// Maps one page; the system brings the huge page around it, and begins with the next. Where that
/// page was there already, the system is too old for this (or is qemu, which says that it has done
/// it and has not) or its huge pages are others, the rest is asked for by single pages.
bool bring_around(const InputFile& file, uint64_t offset) {
  const uint64_t one = page_bytes();
  void* page =
      mmap(nullptr, one, PROT_READ, MAP_SHARED, file.descriptor(), static_cast<off_t>(offset));
  if (page == MAP_FAILED) return false;
  const bool was_there = in_cache(page);
  madvise(page, one, MADV_HUGEPAGE);
  const bool came = madvise(page, one, MADV_POPULATE_READ) == 0 && in_cache(page);
  munmap(page, one);
  if (!came || was_there || one != kSmallPage) file.will_need(offset, kHugePage);
  return came;
}

}  // namespace

uint64_t page_bytes() { return bytes_of_page().load(std::memory_order_relaxed); }
ScopedPageBytes::ScopedPageBytes(uint64_t bytes) : before_(bytes_of_page().exchange(bytes)) {}
ScopedPageBytes::~ScopedPageBytes() { bytes_of_page().store(before_); }

/// Maps one huge page more than needed and gives the ends back.
void* map_on_huge_page(size_t bytes, int protection) {
  void* raw = mmap(nullptr, bytes + kHugePage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = round_up(begin, kHugePage);
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
