#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/hdf5.h"

/// EntryStore and those who write a store agree on this format; docs/prep.md describes it.
namespace hone::data::entry_format {

inline constexpr const char* kIndex = "index.h5";
inline constexpr const char* kManifest = "store.json";
inline constexpr const char* kVocabulary = "vocabulary.txt";
inline constexpr int64_t kVersion = 1;
inline constexpr int64_t kMostLength = 1 << 16;
/// The ids of words begin here: 0 pads, 1 stands for every other word.
inline constexpr int32_t kPad = 0;
inline constexpr int32_t kUnknown = 1;
inline constexpr int32_t kFirstWord = 2;

/// Gives the columns of a shard: a chunk of about 100 KB is what it costs to read one entry.
std::vector<io::Column> columns(int64_t length);

struct FileFacts {
  uint64_t bytes = 0;
  std::string hash;
};

/// What store.json says.
struct Manifest {
  int64_t rows = 0;
  int64_t length = 0;
  int64_t id_end = 0;       ///< one more than the highest id
  bool has_words = false;   ///< ids count the lines of vocabulary.txt; otherwise a tokenizer's
  std::string tokenizer{};  ///< hash of the tokenizer's files; empty where there is none
  // What was read: records, those without a word, and those that were there before.
  int64_t records = 0;
  int64_t empty = 0;
  int64_t duplicates = 0;
  std::map<std::string, FileFacts> files{};  ///< every other file of the store by its name
};

std::string manifest_text(const Manifest& manifest);
/// Reads hostile text; `file` names it in errors.
Manifest parse_manifest(const std::string& text, const std::string& file);

/// Gives the facts of a file's bytes.
FileFacts facts_of(std::string_view bytes);

}  // namespace hone::data::entry_format
