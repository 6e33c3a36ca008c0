#include "data/sample_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "data/sample_store_format.h"

namespace hone::data {

using namespace store_format;

void SampleStore::damaged(std::string_view field, std::string_view problem) const {
  fail(ErrorKind::bad_file, "{}: {}: {}", file_.path(), field, problem);
}

std::optional<SampleStore> SampleStore::open(const std::string& path, const Hash128& key,
                                             std::string& why) {
  try {
    SampleStore store{InputFile(path)};
    store.check_header(key);
    store.read_footer();
    store.check_hash();
    store.read_tables();
    return store;
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

void SampleStore::check_header(const Hash128& key) {
  if (file_.size() < sizeof(Header) + sizeof(Footer)) damaged("size", "too short");
  Header header;
  file_.read(0, &header, sizeof header);
  if (header.magic != kMagic) damaged("magic", "not a sample store");
  if (header.version != kVersion) damaged("version", "of another version of hone");
  if (header.key != key) damaged("key", "made from other data, labels, processor or settings");
  if (!read_label_kind(header.kind, problem_)) damaged("label kind", "unknown");
  if (header.unit_bytes < 1 || header.unit_bytes > kMostUnitBytes) damaged("unit", "out of range");
  unit_bytes_ = header.unit_bytes;
}

/// Reads the footer. Every count is below the file's size before it is multiplied, so that no
/// product overflows.
void SampleStore::read_footer() {
  Footer footer;
  const uint64_t size = file_.size();
  file_.read(size - sizeof footer, &footer, sizeof footer);
  const uint64_t body = size - sizeof(Header) - sizeof(Footer);
  const auto unit_bytes = static_cast<uint64_t>(unit_bytes_);
  if (footer.units > body / unit_bytes) damaged("units", "more than the file holds");
  const uint64_t label_bytes = bytes_of_labels(problem_, footer.labels);
  if (label_bytes > size || footer.samples > body / (sizeof(int32_t) + label_bytes)) {
    damaged("samples", "more than the file holds");
  }
  if (footer.units * unit_bytes + footer.samples * (sizeof(int32_t) + label_bytes) != body) {
    damaged("size", "not that of its samples and units");
  }
  if (footer.samples == 0) damaged("samples", "none");
  if (footer.truncated > footer.samples) damaged("cut samples", "more than samples");
  if (footer.labels > kMostLabels) damaged("labels", "too many");
  units_ = static_cast<int64_t>(footer.units);
  truncated_ = static_cast<int64_t>(footer.truncated);
  label_count_ = static_cast<int64_t>(footer.labels);
  lengths_.resize(footer.samples);
  labels_.resize(footer.samples * label_bytes);
}

void SampleStore::check_hash() const {
  const uint64_t end = file_.size() - sizeof(Hash128);
  std::vector<char> buffer(std::min<uint64_t>(end, 1 << 20));
  ContentHash hash;
  for (uint64_t at = 0; at < end; at += buffer.size()) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(buffer.size(), end - at));
    file_.read(at, buffer.data(), size);
    hash.bytes(buffer.data(), size);
  }
  Hash128 wanted;
  file_.read(end, &wanted, sizeof wanted);
  if (hash.value() != wanted) damaged("hash", "the file is damaged");
}

void SampleStore::read_tables() {
  const uint64_t lengths_at = sizeof(Header) + static_cast<uint64_t>(units_ * unit_bytes_);
  const uint64_t lengths_bytes = lengths_.size() * sizeof(int32_t);
  file_.read(lengths_at, lengths_.data(), lengths_bytes);
  file_.read(lengths_at + lengths_bytes, labels_.data(), labels_.size());
  begins_.reserve(lengths_.size());
  int64_t begin = 0;
  for (const int32_t length : lengths_) {
    if (length <= 0 || length > units_ - begin) damaged("lengths", "out of range");
    begins_.push_back(begin);
    begin += length;
  }
  if (begin != units_) damaged("lengths", "do not sum to the units");
  for (int64_t sample = 0; sample < samples(); ++sample) {
    if (problem_ == ProblemType::single_label) {
      const int64_t id = class_of(sample);
      if (id < 0 || id >= label_count_) damaged("labels", "a class out of range");
    }
    if (problem_ == ProblemType::regression) {
      float score = 0;
      targets_of(sample, &score);
      if (!std::isfinite(score)) damaged("labels", "a score that is not finite");
    }
  }
  const auto is_flag = [](char flag) { return flag == 0 || flag == 1; };
  if (problem_ == ProblemType::multi_label &&
      !std::all_of(labels_.begin(), labels_.end(), is_flag)) {
    damaged("labels", "a flag that is neither 0 nor 1");
  }
}

int64_t SampleStore::class_of(int64_t sample) const {
  int32_t id = 0;
  std::memcpy(&id, labels_.data() + static_cast<size_t>(sample) * sizeof id, sizeof id);
  return id;
}

int64_t SampleStore::target_width() const {
  if (problem_ == ProblemType::regression) return 1;
  return problem_ == ProblemType::multi_label ? label_count_ : 0;
}

void SampleStore::targets_of(int64_t sample, float* out) const {
  const auto at = static_cast<size_t>(sample);
  if (problem_ == ProblemType::regression)
    std::memcpy(out, labels_.data() + at * sizeof *out, sizeof *out);
  if (problem_ == ProblemType::multi_label) {
    const auto width = static_cast<size_t>(label_count_);
    std::copy_n(labels_.data() + at * width, width, out);
  }
}

std::vector<int64_t> SampleStore::label_counts() const {
  std::vector<int64_t> counts(static_cast<size_t>(label_count_));
  if (problem_ == ProblemType::single_label) {
    for (int64_t sample = 0; sample < samples(); ++sample) {
      ++counts[static_cast<size_t>(class_of(sample))];
    }
  } else if (problem_ == ProblemType::multi_label) {
    for (size_t i = 0; i < labels_.size(); ++i) counts[i % counts.size()] += labels_[i];
  }
  return counts;
}

void SampleStore::read(int64_t sample, std::vector<std::byte>& out) const {
  const auto at = static_cast<size_t>(sample);
  out.resize(static_cast<size_t>(lengths_[at] * unit_bytes_));
  file_.read(sizeof(Header) + static_cast<uint64_t>(begins_[at] * unit_bytes_), out.data(),
             out.size());
}

}  // namespace hone::data
