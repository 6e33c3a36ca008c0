#include "data/entry_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/processor.h"

namespace hone::data {
namespace {

constexpr int64_t kBlock = 4096;

/// Writes a label as a file of texts would have it: 5 for 5.0.
std::string label_text(float label) {
  const bool whole = std::abs(label) < 1e9f && label == std::floor(label);
  return whole ? fmt::format("{}", static_cast<int64_t>(label)) : fmt::format("{}", label);
}

const TextFile* file_named(const std::vector<TextFile>& files, const char* name) {
  const auto found =
      std::ranges::find_if(files, [&](const TextFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

/// Hashes a tokenizer's files as `hone prep` does.
std::string tokenizer_hash(const std::vector<TextFile>& files) {
  ContentHash hash;
  for (const char* name : text::kTokenizerFiles) {
    if (const TextFile* file = file_named(files, name)) hash.text(file->text);
  }
  return hex(hash.value());
}

std::string lines_of(const std::vector<std::string>& words) {
  std::string lines;
  for (const std::string& word : words) (lines += word) += '\n';
  return lines;
}

}  // namespace

EntryRecords::EntryRecords(const std::string& path, bool need_label)
    : path_(path), store_(path), need_label_(need_label) {}

bool EntryRecords::next(Record& record) {
  if (next_ == store_.rows()) return false;
  if (next_ >= first_ + std::ssize(block_.lengths)) {
    first_ = next_;
    store_.read(first_, std::min(kBlock, store_.rows() - first_), block_);
  }
  const auto at = static_cast<size_t>(next_ - first_);
  const int32_t* ids = block_.ids.data() + at * static_cast<size_t>(store_.length());
  record.row = next_++;
  record.text.clear();
  record.pair.reset();
  record.labels.reset();
  record.label.reset();
  record.ids.assign(ids, ids + block_.lengths[at]);
  if (record.ids.empty()) fail(ErrorKind::bad_file, "{}: no ids", where(record));
  const float label = block_.labels[at];
  if (std::isfinite(label)) record.label = label_text(label);
  if (need_label_ && !record.label) fail(ErrorKind::bad_file, "{}: label: missing", where(record));
  return true;
}

void EntryRecords::check_ids(const Processor& processor) const {
  if (!processor.reads_ids()) {
    fail(ErrorKind::unsupported, "{}: has ids in place of {}s, which this model cannot read", path_,
         processor.sample_name());
  }
  const std::vector<TextFile> files = processor.files();
  const TextFile* words = file_named(files, entry_format::kVocabulary);
  if (store_.has_words()) {
    if (words && words->text == lines_of(store_.vocabulary())) return;
    fail(ErrorKind::bad_file, "{}: its ids are lines of its vocabulary.txt, and the model has {}",
         path_,
         words ? "another one" : "a tokenizer: prepare with the model's folder as tokenizer");
  }
  if (!words && store_.manifest().tokenizer == tokenizer_hash(files)) return;
  fail(ErrorKind::bad_file, "{}: store.json: field tokenizer: its ids are of another tokenizer",
       path_);
}

std::string EntryRecords::where(const Record& record) const {
  return fmt::format("{}: row {}", path_, record.row);
}

}  // namespace hone::data
