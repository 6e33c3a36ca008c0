#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "data/content_hash.h"
#include "data/splits.h"

/// SampleStore and its builder agree on this format.
namespace hone::data::store_format {

inline constexpr std::array<char, 8> kMagic = {'H', 'O', 'N', 'E', 'S', 'M', 'P', 'L'};
inline constexpr uint32_t kVersion = 2;
/// Fewer labels than this are taken: no file size bounds the number of classes, and label_counts()
/// allocates for each.
inline constexpr uint64_t kMostLabels = uint64_t{1} << 20;
inline constexpr uint32_t kMostUnitBytes = 1 << 16;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kVersion;
  uint32_t kind = 0;
  Hash128 key{};
  uint32_t unit_bytes = 0;
  uint32_t reserved = 0;
};
static_assert(sizeof(Header) == 40);

struct Footer {
  uint64_t samples = 0;
  uint64_t units = 0;
  uint64_t truncated = 0;
  uint64_t labels = 0;
  Hash128 hash{};
};
static_assert(sizeof(Footer) == 48);

/// The label kinds of a header: files on disk have these numbers, so they stay.
inline constexpr uint32_t kNoLabels = 0;
inline constexpr uint32_t kClasses = 1;
inline constexpr uint32_t kFlags = 2;
inline constexpr uint32_t kScores = 3;

inline uint32_t label_kind(std::optional<ProblemType> problem) {
  if (!problem) return kNoLabels;
  switch (*problem) {
    case ProblemType::multi_label:
      return kFlags;
    case ProblemType::regression:
      return kScores;
    default:
      return kClasses;
  }
}

/// Sets `problem` to what a header's label kind says; false where that is unknown.
inline bool read_label_kind(uint32_t kind, std::optional<ProblemType>& problem) {
  switch (kind) {
    case kNoLabels:
      problem.reset();
      return true;
    case kClasses:
      problem = ProblemType::single_label;
      return true;
    case kFlags:
      problem = ProblemType::multi_label;
      return true;
    case kScores:
      problem = ProblemType::regression;
      return true;
    default:
      return false;
  }
}

/// Gives the bytes of a sample's labels in the file.
inline uint64_t bytes_of_labels(std::optional<ProblemType> problem, uint64_t labels) {
  if (!problem) return 0;
  return *problem == ProblemType::multi_label ? labels : 4;
}

}  // namespace hone::data::store_format
