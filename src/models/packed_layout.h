#pragma once

#include <string>

#include "base/page_cache.h"
#include "nn/parameters.h"

/// The reader and the writer of a packed file share this layout.
namespace hone::models {

inline constexpr char kPackedMagic[] = "HONEPACK";
inline constexpr uint64_t kPackedAlign = 4096;
inline constexpr uint64_t kPackedPiece = 1 << 20;
/// The file is written by pieces of this size: the system then caches it in huge pages.
inline constexpr size_t kPackedWrite = kHugePage;
inline constexpr uint64_t kMaxIndexBytes = 16 << 20;

struct PackedTrailer {
  char magic[8];
  uint64_t index_offset;
  uint64_t index_bytes;
  uint64_t index_checksum;
};

inline uint64_t pieces_of(uint64_t bytes) { return (bytes + kPackedPiece - 1) / kPackedPiece; }

/// Gives the checksum of a text of any length.
uint64_t checksum_of(const std::string& text);
/// Gives the checksum of a row and its number, so that rows that have changed places are seen.
uint64_t row_checksum(const void* record, size_t bytes, int64_t row);

/// Says what a slot is, as the encoder says: "matrix fp32 [768, 3072] a.weight".
std::string slot_text(const nn::Parameter& parameter);
/// Gives one name for the instruction sets that share this machine's layouts and dtypes.
std::string isa_group();

}  // namespace hone::models
