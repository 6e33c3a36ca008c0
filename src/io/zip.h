#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/file.h"

namespace hone::io {

/// The directory of a zip file as torch.save writes them: stored entries, zip64 where needed.
class ZipDirectory {
 public:
  struct Range {
    uint64_t offset;
    uint64_t size;
  };

  /// `file` must outlive this.
  explicit ZipDirectory(const InputFile& file);

  bool has(const std::string& name) const { return entries_.contains(name); }
  /// Gives where an entry's bytes lie in the file. An absent or compressed entry is an error.
  Range find(const std::string& name) const;
  /// Gives the name of the one entry that is `suffix` in a folder of the archive's root, empty if
  /// there is none.
  std::string find_suffix(std::string_view suffix) const;

 private:
  struct Entry {
    uint64_t header;  ///< offset of the local header
    uint64_t size;
    bool stored;
  };
  void add_entries(std::string_view directory, uint64_t directory_offset);

  const InputFile& file_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace hone::io
