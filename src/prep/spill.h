#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/content_hash.h"

namespace hone::prep {

/// What stands before the codes of a text between the stages.
struct TextHead {
  data::Hash128 hash{};
  float label = 0;
  uint32_t units = 0;  ///< 16 bits each
};
static_assert(sizeof(TextHead) == 24);

/// Texts are divided by the first bits of their hash, so that partitions are in the order of rows.
inline size_t partition_of(const data::Hash128& hash, int bits) {
  return bits == 0 ? 0 : static_cast<size_t>(hash[0] >> (64 - bits));
}

/// Collects texts and writes them as runs: files in which the texts of a partition lie together,
/// with a checksum each.
class RunWriter {
 public:
  /// Writes at most about so many bytes into a run, which is what it keeps in memory, twice.
  static constexpr size_t kRunBytes = size_t{8} << 20;

  /// The i-th run is called `path` and i.
  RunWriter(std::string path, int bits) : path_(std::move(path)), bits_(bits) {}

  void add(const TextHead& head, std::span<const uint16_t> codes);
  /// Writes what is left; gives the number of runs.
  int64_t finish();

  static std::string name(const std::string& path, int64_t run);

 private:
  struct Place {
    uint32_t partition;
    uint32_t bytes;
    uint64_t offset;
  };
  void write_run();

  std::string path_;
  int bits_;
  int64_t runs_ = 0;
  std::string texts_;
  std::vector<Place> places_;
};

/// Reads a partition's texts of a run; false where they are damaged. A run whose begin is damaged
/// is an error.
bool read_run(const std::string& path, int bits, size_t partition, std::string& texts);

/// Steps over texts, checking their sizes: gives false at the end, or where they break off.
bool next_text(std::string_view& texts, TextHead& head, std::span<const uint16_t>& codes);

}  // namespace hone::prep
