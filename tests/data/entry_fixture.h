#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/entry_store.h"

namespace hone::data {

/// Writes a store of one shard with these values, hashes and all.
struct StoreDraft {
  int64_t length = 3;
  std::vector<int32_t> ids = {2, 3, 0, 1, 2, 3};
  std::vector<int32_t> lengths = {2, 3};
  std::vector<float> labels = {1, 5};
  std::string vocabulary = "good\nbad\n";
  entry_format::Manifest manifest = {.rows = 2, .length = 3, .id_end = 4, .has_words = true};

  void write(const std::string& folder) const {
    const auto rows = static_cast<int64_t>(lengths.size());
    const auto columns = entry_format::columns(length);
    const auto builder = io::build_table(columns, rows);
    const std::vector<uint64_t> hashes(static_cast<size_t>(rows) * 2);
    builder->append(
        rows, std::array<const void*, 4>{ids.data(), lengths.data(), labels.data(), hashes.data()});
    const std::vector<io::TablePart> parts = {{"shard-00000.h5", rows}};
    const std::array<std::pair<const char*, std::string>, 3> files = {
        {{"shard-00000.h5", builder->finish()},
         {entry_format::kVocabulary, vocabulary},
         {entry_format::kIndex, io::build_table_index(columns, parts)}}};
    entry_format::Manifest complete = manifest;
    for (const auto& [name, bytes] : files) {
      write_file(folder + "/" + name, bytes);
      complete.files[name] = entry_format::facts_of(bytes);
    }
    write_file(folder + "/" + entry_format::kManifest, entry_format::manifest_text(complete));
  }
};

}  // namespace hone::data
