#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::kernels {

/// One checksum() takes at most this many bytes.
inline constexpr size_t kChecksumBytes = size_t{4} << 20;

/// A checksum of bytes that are read on their way to a matrix product: as fast as memory gives
/// them, the same on every machine. It holds the sums of the 32-bit words and of those sums, by
/// lane (Fletcher), exactly: a change of one word, or of two in any places, never goes unseen. It
/// guards against accidents, not against forgers.
uint64_t checksum(const void* data, size_t bytes);

}  // namespace hone::kernels
