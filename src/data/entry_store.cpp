#include "data/entry_store.h"

#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "data/content_hash.h"
#include "data/line_reader.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestManifest = uint64_t{64} << 20;
constexpr size_t kMostWords = size_t{1} << 26;
constexpr size_t kLongestWord = size_t{1} << 20;

std::string folder_of_store(const std::string& path) {
  if (fs::path(path).filename() != entry_format::kIndex) return path;
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

std::string manifest_of_store(const std::string& path) {
  return folder_of_store(path) + "/" + entry_format::kManifest;
}

bool is_entry_store(const std::string& path) {
  return file_exists(folder_of_store(path) + "/" + entry_format::kIndex) &&
         file_exists(manifest_of_store(path));
}

std::vector<std::string> read_vocabulary(const std::string& path) {
  LineReader lines(open_bytes(path), path, kLongestWord);
  std::vector<std::string> words;
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) {
      fail(ErrorKind::bad_file, "{}: line {}: expected a word, got ''", path, lines.number());
    }
    if (words.size() == kMostWords) {
      fail(ErrorKind::bad_file, "{}: more than {} words", path, kMostWords);
    }
    words.emplace_back(line);
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string& word : words) {
    if (!seen.insert(word).second) {
      fail(ErrorKind::bad_file, "{}: the word {} is there twice", path, quote(word));
    }
  }
  return words;
}

EntryStore::EntryStore(const std::string& path) : folder_(folder_of_store(path)) {
  const std::string manifest = manifest_of_store(path);
  manifest_ = entry_format::parse_manifest(read_file(manifest, kLargestManifest), manifest);
  check_files();
  if (manifest_.has_words) {
    const std::string words = folder_ + "/" + entry_format::kVocabulary;
    vocabulary_ = read_vocabulary(words);
    const auto expected = static_cast<size_t>(manifest_.id_end - entry_format::kFirstWord);
    if (manifest_.id_end < entry_format::kFirstWord || vocabulary_.size() != expected) {
      fail(ErrorKind::bad_file, "{}: field id_end: {}, but {} has {} words", manifest,
           manifest_.id_end, words, vocabulary_.size());
    }
  }
  table_ = io::open_table(folder_ + "/" + entry_format::kIndex, {"ids", "lengths", "labels"});
  check_columns();
}

void EntryStore::check_files() const {
  for (const char* needed : {entry_format::kIndex, entry_format::kVocabulary}) {
    if (needed == entry_format::kVocabulary && !manifest_.has_words) continue;
    if (!manifest_.files.contains(needed)) {
      fail(ErrorKind::bad_file, "{}/{}: field files: {} is missing", folder_,
           entry_format::kManifest, needed);
    }
  }
  for (const auto& [name, facts] : manifest_.files) {
    const std::string path = folder_ + "/" + name;
    const uint64_t bytes = InputFile(path).size();
    if (bytes != facts.bytes) {
      fail(ErrorKind::bad_file, "{}: {} bytes, but {} says {}", path, bytes,
           entry_format::kManifest, facts.bytes);
    }
    ContentHash hash;
    hash.file(path);
    if (hex(hash.value()) != facts.hash) {
      fail(ErrorKind::bad_file, "{}: damaged: its hash is not the one in {}", path,
           entry_format::kManifest);
    }
  }
}

void EntryStore::check_columns() const {
  const std::string index = folder_ + "/" + entry_format::kIndex;
  const auto expected = entry_format::columns(manifest_.length);
  for (size_t i = 0; i < table_->columns().size(); ++i) {
    const io::Column& found = table_->columns()[i];
    if (found.type != expected[i].type || found.width != expected[i].width) {
      fail(ErrorKind::bad_file, "{}: data set {}: its type or width is not the store's", index,
           quote(found.name));
    }
  }
  if (table_->rows() != manifest_.rows) {
    fail(ErrorKind::bad_file, "{}: {} rows, but {} says {}", index, table_->rows(),
         entry_format::kManifest, manifest_.rows);
  }
}

void EntryStore::read(int64_t first, int64_t count, Entries& out) const {
  if (first < 0 || count < 0 || first > rows() - count) {
    fail(ErrorKind::usage, "{}: rows {} to {} of {} asked for", folder_, first, first + count,
         rows());
  }
  out.ids.resize(static_cast<size_t>(count * length()));
  out.lengths.resize(static_cast<size_t>(count));
  out.labels.resize(static_cast<size_t>(count));
  table_->read(0, first, count, out.ids.data());
  table_->read(1, first, count, out.lengths.data());
  table_->read(2, first, count, out.labels.data());
  for (int64_t row = 0; row < count; ++row) {
    const int32_t units = out.lengths[static_cast<size_t>(row)];
    if (units < 0 || units > length()) {
      fail(ErrorKind::bad_file, "{}: row {}: length {} of {}", folder_, first + row, units,
           length());
    }
    for (int64_t i = 0; i < length(); ++i) {
      const int32_t id = out.ids[static_cast<size_t>(row * length() + i)];
      if (id < 0 || id >= id_end() || (i >= units && id != entry_format::kPad)) {
        fail(ErrorKind::bad_file, "{}: row {}: id {} at {} of {}", folder_, first + row, id, i,
             units);
      }
    }
  }
}

}  // namespace hone::data
