#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.h"
#include "prep/review_reader.h"
#include "prep/work.h"

/// Raw reviews become a store of entries: cleaned, each once, as ids, in the order of their hashes.
///
/// Map: the inputs are cut into parts; a part's texts are cleaned, hashed and written as runs, in
/// which the texts of a partition (the first bits of the hash) lie together. Merge: a partition's
/// texts are read from all runs, copies are merged, words counted. Write: when all words are
/// counted and the vocabulary is known, a partition becomes a shard. Each piece of work is done
/// when its file has its name, and no piece depends on who does it: any number of processes that
/// share the output's folder, one after the other or at the same time, give the same bytes.
namespace hone::prep {

struct PrepOptions {
  std::vector<std::string> inputs;
  std::string output;
  // One of these three says what ids are.
  int64_t vocabulary_size = 0;  ///< takes so many of the commonest words
  std::string vocabulary_file;  ///< these words
  std::string tokenizer;        ///< a tokenizer's file or folder
  Fields fields;
  std::optional<data::Format> format;  ///< absent: by extension
  std::string stop_words = "english";
  int64_t max_length = 100;
  int threads = 1;
  uint64_t part_bytes = uint64_t{32} << 20;       ///< what a killed process costs at most
  uint64_t partition_bytes = uint64_t{32} << 20;  ///< how much of the inputs becomes a shard
  double timeout = 60;                            ///< seconds after which a silent rank is given up
};

struct PrepResult {
  int64_t records = 0;
  int64_t empty = 0;  ///< records without a word
  int64_t duplicates = 0;
  int64_t rows = 0;
  int64_t words = 0;  ///< the vocabulary; 0 where a tokenizer was used
  int64_t shards = 0;
  uint64_t bytes = 0;  ///< all inputs together
};

/// Hears how far the work of this process has come.
class PrepObserver {
 public:
  virtual ~PrepObserver() = default;
  /// Any thread calls it, one at a time.
  virtual void progress(std::string_view stage, int64_t done, int64_t total) = 0;
};

/// Does this rank's share. Rank 0 returns when the store is complete, the others when their share
/// is. An output that was begun and not completed is completed; only rank 0's result is filled.
PrepResult run(const PrepOptions& options, const Ranks& ranks, PrepObserver& observer);

}  // namespace hone::prep
