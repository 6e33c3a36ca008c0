#pragma once

#include "fuzz/records_target.h"
#include "fuzz/refusal.h"

namespace hone::data {

using Decompress = std::unique_ptr<ByteSource> (*)(std::unique_ptr<ByteSource> compressed,
                                                   const std::string& name);

inline constexpr size_t kMostDecompressed = size_t{1} << 20;

struct Decompressed {
  std::string bytes;  ///< the first kMostDecompressed of them
  bool accepted = false;
};

/// Reads what comes out of a decompressor, in pieces of at most `capacity` bytes.
inline Decompressed read_decompressed(Decompress decompress, const std::string& name,
                                      std::unique_ptr<ByteSource> compressed, size_t capacity) {
  Decompressed out;
  out.accepted = accepts(name + ": ", [&] {
    const auto source = decompress(std::move(compressed), name);
    std::string piece(capacity, '\0');
    while (out.bytes.size() < kMostDecompressed) {
      const size_t got = source->read(piece.data(), piece.size());
      if (got > piece.size()) std::abort();
      if (got == 0) return;
      out.bytes.append(piece, 0, got);
    }
    out.bytes.resize(kMostDecompressed);
  });
  return out;
}

/// Aborts unless bytes that come in dribs give what they give in one piece. How many come out
/// before a damage is the library's affair.
inline void check_decompression(Decompress decompress, const std::string& name, const uint8_t* data,
                                size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Decompressed a = read_decompressed(decompress, name, bytes_of_memory(bytes), 1 << 16);
  const Decompressed b = read_decompressed(
      decompress, name, std::make_unique<DribblingSource>(bytes), 1 + size % 4096);
  const size_t common = std::min(a.bytes.size(), b.bytes.size());
  if (a.bytes.compare(0, common, b.bytes, 0, common) != 0) std::abort();
  if (a.accepted && b.accepted && a.bytes != b.bytes) std::abort();
  const bool ended = std::max(a.bytes.size(), b.bytes.size()) < kMostDecompressed;
  if (a.accepted != b.accepted && ended) std::abort();
}

}  // namespace hone::data
