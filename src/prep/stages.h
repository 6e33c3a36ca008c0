#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "data/content_hash.h"
#include "data/entry_store_format.h"
#include "prep/dictionary.h"
#include "prep/ids.h"
#include "prep/parts.h"
#include "prep/prep.h"

namespace hone::prep {

/// What all stages of one run know.
struct Job {
  Job(const PrepOptions& asked, const Ranks& all, PrepObserver& told)
      : options(asked), ranks(all), observer(told), folder(asked.output + "/work") {}

  const PrepOptions& options;
  const Ranks& ranks;
  PrepObserver& observer;
  std::string folder;  ///< holds what lies between the stages
  std::vector<Input> inputs;
  std::vector<Part> parts;
  int bits = 0;  ///< there are 2^bits partitions
  std::vector<std::string> stop_words;
  std::optional<Dictionary> dictionary;
  std::optional<text::Tokenizer> tokenizer;
  std::string tokenizer_hash;
  std::vector<std::string> vocabulary;
  std::optional<Pulse> pulse;

  size_t partitions() const { return size_t{1} << bits; }
  bool counts_words() const { return options.vocabulary_size > 0; }

  std::string part_file(size_t part) const;    ///< a part's record; its runs are called after it
  std::string merged_file(size_t part) const;  ///< a merged partition's rows
  std::string counts_file(size_t part) const;
  std::string shard_name(size_t part) const;
  /// The record of a piece of work that is done: JSON with a hash.
  std::string record_file(const char* what, size_t part) const;

  /// Gives the pieces of `count` that are this rank's.
  std::vector<size_t> share(size_t count) const;
  /// Does pieces with as many threads as have room for `bytes` each; tells the observer.
  void each(std::string_view stage, const std::vector<size_t>& pieces, uint64_t bytes,
            FunctionRef<void(size_t piece)> work) const;
};

/// A process keeps to 512 MB: so much is shared out among its threads.
inline constexpr uint64_t kThreadsMemory = uint64_t{384} << 20;

/// Reads a record of work that is done; none where there is none, or it is damaged.
std::optional<Json> read_record(const std::string& path);
void write_record(const std::string& path, const Json& record);

// The stages. Each does this rank's share of what is not done yet.

/// Says what is to be done, or compares it with what was begun; makes the dictionary.
void plan_stage(Job& job);
void map_stage(const Job& job);
void merge_stage(const Job& job);
/// Waits for all counts, and gives job.vocabulary.
void vocabulary_stage(Job& job);
void write_stage(const Job& job);
PrepResult index_stage(const Job& job);

/// Writes a partition's rows as a shard, with its record.
class ShardWriter {
 public:
  ShardWriter(const Job& job, IdMaker& maker, size_t partition, int64_t rows);
  void add(const data::Hash128& hash, float label, std::span<const uint16_t> codes);
  /// `merged` is what the record says besides.
  void finish(const Json& merged);

 private:
  void flush();

  const Job& job_;
  IdMaker& maker_;
  size_t partition_;
  int64_t rows_;
  std::unique_ptr<io::TableBuilder> table_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> lengths_;
  std::vector<float> labels_;
  std::vector<uint64_t> hashes_;
};

bool shard_is_done(const Job& job, size_t partition);
/// Makes what turns codes into ids, for the thread that asks; `index` is used where there is one.
std::unique_ptr<IdMaker> make_ids(const Job& job, const std::optional<VocabularyIndex>& index);

}  // namespace hone::prep
