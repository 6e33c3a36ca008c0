#pragma once

#include <cstddef>
#include <cstdint>

#include "base/file.h"

namespace hone {

/// A huge page where pages have 4 KiB. Where they have 64 KiB, as on some ARM systems, huge ones
/// have 512 MiB: what is aligned to this is then aligned to pages, and no more.
inline constexpr uint64_t kHugePage = 2 << 20;

/// Gives the bytes of a page of memory, by which files are mapped and resident sizes counted.
uint64_t page_bytes();
constexpr uint64_t round_up(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Lets tests set page_bytes() of the whole process while it lives, to a multiple of the system's.
class ScopedPageBytes {
 public:
  explicit ScopedPageBytes(uint64_t bytes);
  ~ScopedPageBytes();
  ScopedPageBytes(const ScopedPageBytes&) = delete;
  ScopedPageBytes& operator=(const ScopedPageBytes&) = delete;

 private:
  uint64_t before_;
};

/// Reserves address space that starts on a huge page; null where there is none. `bytes` is a
/// multiple of the page size.
void* map_on_huge_page(size_t bytes, int protection);

/// Brings bytes of a file into the system's cache, in huge pages where it has them for files: less
/// work than reading, and a mapping of them costs one entry each. Nothing becomes resident. (438 MB
/// from a disk of 6 GB/s: 70 ms of which 9 are the processor's; read in order, with the system's
/// own foresight, 80 and 12 to 16, in pages of 1 MiB where it foresees 128 KiB; asked for by
/// POSIX_FADV_WILLNEED, in single pages, 150 of the processor's.) Returns whether all has come, or
/// is on its way.
bool bring_to_cache(const InputFile& file, uint64_t offset, uint64_t bytes);

}  // namespace hone
