#pragma once

#include <array>
#include <cstdint>

#include "data/content_hash.h"
#include "data/splits.h"

/// What TokenStore and its builder agree on.
namespace hone::data::store_format {

inline constexpr std::array<char, 8> kMagic = {'H', 'O', 'N', 'E', 'T', 'O', 'K', 'S'};
inline constexpr uint32_t kVersion = 1;
/// No file size bounds the number of classes, and label_counts() allocates for each.
inline constexpr uint64_t kMostLabels = uint64_t{1} << 20;
inline constexpr uint64_t kTokenBytes = sizeof(int32_t) + sizeof(uint8_t);

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t kind = 0;
  Hash128 key{};
};
static_assert(sizeof(Header) == 32);

struct Footer {
  uint64_t samples = 0;
  uint64_t tokens = 0;
  uint64_t truncated = 0;
  uint64_t labels = 0;
  Hash128 hash{};
};
static_assert(sizeof(Footer) == 48);

/// Bytes of a sample's labels in the file.
inline uint64_t bytes_of_labels(LabelKind kind, uint64_t labels) {
  switch (kind) {
    case LabelKind::classes:
    case LabelKind::score:
      return 4;
    case LabelKind::flags:
      return labels;
    default:
      return 0;
  }
}

}  // namespace hone::data::store_format
