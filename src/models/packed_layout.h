#pragma once

#include <string>

#include "base/page_cache.h"
#include "nn/parameters.h"

/// What the reader and the writer of a packed file share.
namespace hone::models {

inline constexpr char kPackedMagic[] = "HONEPACK";
inline constexpr uint64_t kPackedAlign = 4096;
inline constexpr uint64_t kPackedPiece = 1 << 20;
/// What the file is written by: the system then caches it in huge pages.
inline constexpr size_t kPackedWrite = kHugePage;
inline constexpr uint64_t kMaxIndexBytes = 16 << 20;

struct PackedTrailer {
  char magic[8];
  uint64_t index_offset;
  uint64_t index_bytes;
  uint64_t index_checksum;
};

inline uint64_t pieces_of(uint64_t bytes) { return (bytes + kPackedPiece - 1) / kPackedPiece; }

/// Of a text of any length.
uint64_t checksum_of(const std::string& text);
/// With the row's number, so that rows that have changed places are seen.
uint64_t row_checksum(const void* record, size_t bytes, int64_t row);

/// "matrix fp32 [768, 3072] a.weight": what a slot is, as the encoder says.
std::string slot_text(const nn::Parameter& parameter);
/// The instruction sets that share this machine's layouts and dtypes, under one name.
std::string isa_group();

}  // namespace hone::models
