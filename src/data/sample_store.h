#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/content_hash.h"
#include "data/processor.h"
#include "data/splits.h"

namespace hone {
class ThreadPool;
}

namespace hone::data {

/// The samples of a split as a Processor made them, in one file beside the output. Only offsets and
/// labels are held in memory (16 bytes a sample, more with flags); samples are read by position.
///
/// The file, little-endian: "HONESMPL", a version (u32), the label kind (u32), the key (16 bytes),
/// the bytes of a unit (u32) and 0 (u32); the samples, one behind the other; their lengths in units
/// (i32 each); labels (class i32, score f32, or a byte a flag); a footer of samples, units, cut
/// samples and labels (u64 each) and the hash of all before it (16 bytes).
class SampleStore {
 public:
  /// Opens the store at `path`, if it is whole and made with `key`; otherwise gives nothing, and
  /// `why` says what is wrong with it. All of the file is read and its hash compared; every number
  /// in it is checked before it is used.
  static std::optional<SampleStore> open(const std::string& path, const Hash128& key,
                                         std::string& why);

  int64_t samples() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t units() const { return units_; }
  /// Counts samples that were cut to the longest length.
  int64_t truncated() const { return truncated_; }
  std::span<const int32_t> lengths() const { return lengths_; }

  /// Says what the labels are; none where the samples have none.
  std::optional<ProblemType> problem() const { return problem_; }
  int64_t class_of(int64_t sample) const;
  /// Counts the classes or flags that labels are of; 0 for scores.
  int64_t labels() const { return label_count_; }
  /// Says how many values targets_of() writes: 1 for a score, one a flag, otherwise 0.
  int64_t target_width() const;
  /// Writes the score, or the flags as 0 and 1.
  void targets_of(int64_t sample, float* out) const;
  /// Counts samples of each class, or with each flag; empty for scores.
  std::vector<int64_t> label_counts() const;

  /// Reads the sample as it was encoded, through a buffer that grows as needed. Any thread may call
  /// it. A file that shrinks meanwhile is an error.
  void read(int64_t sample, std::vector<std::byte>& out) const;

 private:
  explicit SampleStore(InputFile file) : file_(std::move(file)) {}
  void check_header(const Hash128& key);
  void read_footer();
  void check_hash() const;
  void read_tables();
  [[noreturn]] void damaged(std::string_view field, std::string_view problem) const;

  InputFile file_;
  std::optional<ProblemType> problem_;
  int64_t label_count_ = 0;
  int64_t units_ = 0;
  int64_t unit_bytes_ = 0;
  int64_t truncated_ = 0;
  std::vector<int32_t> lengths_;
  std::vector<int64_t> begins_;  ///< the units before each sample
  std::vector<char> labels_;     ///< bytes of the labels in the file
};

/// Says what a store is made from, and so what its key is made of.
struct SampleStoreRecipe {
  const Processor& processor;
  LabelSet labels;                       ///< the model's; their order gives the ids
  std::vector<std::string> task_labels;  ///< the data's own, as for LabelMap; none for own files
  int64_t max_samples = -1;              ///< -1: all
  bool skip_bad = false;                 ///< samples that cannot be read are left out
};

/// Makes the store at `path` anew from `split`; nothing appears there before it is complete. Bad
/// labels and samples without content are errors that name their place. Gives what was wrong with
/// each sample that was left out.
std::vector<std::string> build_store(const std::string& path, const Hash128& key,
                                     const Split& split, const SampleStoreRecipe& recipe,
                                     ThreadPool& pool);

/// Gives the hash of all that decides a store's contents: the bytes of the split's files,
/// processor, settings.
Hash128 store_key(const Split& split, const SampleStoreRecipe& recipe);

struct OpenedStore {
  SampleStore store;
  Hash128 key;          ///< see store_key
  std::string rebuilt;  ///< why it was built; empty where the file was used as it was
  std::vector<std::string> skipped = {};  ///< what was wrong with samples left out as it was built
};

/// Opens the store at `path`; one that is missing, stale or damaged is built first. A split without
/// samples is an error.
OpenedStore open_or_build_store(const std::string& path, const Split& split,
                                const SampleStoreRecipe& recipe, ThreadPool& pool);

}  // namespace hone::data
