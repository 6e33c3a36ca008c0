#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "data/content_hash.h"
#include "tensor/dtype.h"

/// ConceptStore and ConceptWriter agree on this format. All numbers are little-endian; sections
/// follow one another in the order of Sections, each beginning at a multiple of 64 bytes, with
/// zeros between them. Behind the last stands the hash of all before it.
namespace hone::explain::concept_format {

inline constexpr std::array<char, 8> kMagic = {'H', 'O', 'N', 'E', 'C', 'N', 'P', 'T'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kMostWidth = 1 << 16;
inline constexpr uint64_t kMostConcepts = uint64_t{1} << 31;
inline constexpr uint32_t kMostLabels = 1 << 20;

/// The dtypes of a header: files on disk have these numbers, so they stay.
inline constexpr uint32_t kF32 = 0;
inline constexpr uint32_t kBf16 = 1;
inline constexpr uint32_t kInt8 = 2;

/// Flags of a header.
inline constexpr uint32_t kCentred = 1;
inline constexpr uint32_t kBiased = 2;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t dtype = kF32;
  data::Hash128 model{};
  uint32_t width = 0;
  uint32_t labels = 0;
  uint64_t concepts = 0;
  uint64_t rows = 0;        ///< source rows of all concepts
  uint64_t text_bytes = 0;  ///< all texts together
  uint32_t flags = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Header) == 72);

/// Where the sections begin, and where the hash stands.
struct Sections {
  uint64_t vectors = 0;      ///< [concepts, row_stride] of the dtype; int8 as bytes plus 128
  uint64_t scales = 0;       ///< f32 [concepts], for int8
  uint64_t biases = 0;       ///< f32 [concepts], where kBiased
  uint64_t mean = 0;         ///< f32 [width], where kCentred
  uint64_t norms = 0;        ///< f32 [concepts], where kCentred
  uint64_t counts = 0;       ///< u32 [concepts, labels]
  uint64_t row_begins = 0;   ///< u64 [concepts + 1]
  uint64_t source_rows = 0;  ///< u32 [rows]
  uint64_t text_begins = 0;  ///< u64 [concepts + 1]
  uint64_t texts = 0;        ///< UTF-8
  uint64_t hash = 0;
};

/// Gives the dtype of a header's number; nothing where it is unknown.
std::optional<DType> dtype_of(uint32_t number);
uint32_t number_of(DType dtype);

/// Lays the sections out. Gives nothing where they need more than `limit` bytes, which is checked
/// before any product can overflow.
std::optional<Sections> layout(const Header& header, uint64_t limit);

}  // namespace hone::explain::concept_format
