#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "data/content_hash.h"
#include "data/line_reader.h"
#include "data/records.h"
#include "trees/brackets.h"
#include "trees/tree_index.h"

namespace hone::data {

/// The trees of a file in the brackets of the Penn Treebank, one after the other. What cannot be
/// read is an error that names file, line and column; nothing can be read after it.
class TreeFile {
 public:
  explicit TreeFile(LineReader lines) : lines_(std::move(lines)) {}

  bool next(trees::Tree& tree);
  /// Gives the line in which the tree that next() gave last ends.
  int64_t row() const { return row_; }
  const std::string& file() const { return lines_.file(); }

 private:
  LineReader lines_;
  trees::BracketReader reader_;
  std::vector<trees::Tree> ready_;  ///< trees of a line
  size_t given_ = 0;
  int64_t row_ = 0;
};

/// Opens a file of trees; "-" is standard input. A name that ends in ".xz" or ".gz" is
/// decompressed.
TreeFile open_trees(const std::string& path);

/// Trees by their texts, for rows of other files.
struct TreeBank {
  trees::TreeIndex index;
  Hash128 hash;  ///< their files' contents
};

/// Reads all trees of the files. One without a tree is an error.
std::shared_ptr<TreeBank> load_trees(const std::vector<std::string>& files);

/// Gives a file's trees as records: the text is a tree's words with spaces between, its pair the
/// tree in brackets.
std::unique_ptr<RecordStream> open_tree_records(const std::string& path);

}  // namespace hone::data
