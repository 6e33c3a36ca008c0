#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/entry_store_format.h"

namespace hone::data {

/// Rows of a store, one after the other.
struct Entries {
  std::vector<int32_t> ids;      ///< [rows, length]; behind an entry's length stands 0
  std::vector<int32_t> lengths;  ///< 0 to length
  std::vector<float> labels;     ///< no number where the data had none
};

/// The entries that `hone prep` wrote: rows of ids, their lengths and labels, and the words that
/// the ids stand for. Rows are in the order of their texts' hashes, which is as good as random.
/// Files are compared with the hashes of store.json when the store is opened, so that a damaged one
/// is an error that names it; after that only the rows that are asked for are read. Any thread may
/// read it.
class EntryStore {
 public:
  /// Opens a folder, or the index.h5 in it.
  explicit EntryStore(const std::string& path);

  int64_t rows() const { return manifest_.rows; }
  /// Gives the width of a row: the most ids that an entry has.
  int64_t length() const { return manifest_.length; }
  /// Gives one more than the highest id there may be: words + 2, or a tokenizer's ids.
  int64_t id_end() const { return manifest_.id_end; }
  /// Says whether ids stand for words: 0 pads, 1 is every word that vocabulary() lacks, and i + 2
  /// is vocabulary()[i]. Otherwise they are a tokenizer's.
  bool has_words() const { return manifest_.has_words; }
  /// The words, commonest first; empty where ids are a tokenizer's.
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }
  const entry_format::Manifest& manifest() const { return manifest_; }

  /// Reads `count` rows from row `first` on; the memory of `out` is used again. An id or a length
  /// that is out of range is an error. Whoever reads all does so by a few thousand rows at a time.
  void read(int64_t first, int64_t count, Entries& out) const;

 private:
  void check_files() const;
  void check_columns() const;

  std::string folder_;
  entry_format::Manifest manifest_;
  std::vector<std::string> vocabulary_;
  std::unique_ptr<io::TableReader> table_;
};

/// Reads one word a line, commonest first. Words that are empty or there twice are errors.
std::vector<std::string> read_vocabulary(const std::string& path);

/// Says whether a path is such a store: a folder with an index.h5 and a store.json, or that index.
bool is_entry_store(const std::string& path);
/// Gives the path of its store.json, which changes with any of its files.
std::string manifest_of_store(const std::string& path);

}  // namespace hone::data
