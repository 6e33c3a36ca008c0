#pragma once

#include <cstddef>
#include <cstdint>

#include "base/file.h"

namespace hone {

inline constexpr uint64_t kHugePage = 2 << 20;

/// Address space that starts on a huge page; null where there is none. `bytes` is of whole pages.
void* map_on_huge_page(size_t bytes, int protection);

/// Brings bytes of a file into the system's cache, in huge pages where it has them for files: less
/// work than reading, and a mapping of them costs one entry each. Nothing becomes resident. (438 MB
/// from a disk of 6 GB/s: 70 ms of which 9 are the processor's; read in order, with the system's
/// own foresight, 80 and 12 to 16, in pages of 1 MiB where it foresees 128 KiB; asked for by
/// POSIX_FADV_WILLNEED, in single pages, 150 of the processor's.) Whether all has come, or is on
/// its way.
bool bring_to_cache(const InputFile& file, uint64_t offset, uint64_t bytes);

}  // namespace hone
