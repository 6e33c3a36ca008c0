#include "explain/concept_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::explain {

using namespace concept_format;

namespace {

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// Says whether begins go from 0 to `end` and never back.
bool are_begins(std::span<const uint64_t> begins, uint64_t end) {
  return begins.front() == 0 && begins.back() == end &&
         std::is_sorted(begins.begin(), begins.end());
}

}  // namespace

ConceptStore::ConceptStore(const std::string& path) : file_(path) {
  check_header();
  window_ = MappedWindow(file_, 0, file_.size());
  check_hash();
  const uint64_t n = header_.concepts;
  rows_.dtype = *dtype_of(header_.dtype);
  rows_.count = size();
  rows_.width = width();
  rows_.data = static_cast<const std::byte*>(window_.data()) + at_.vectors;
  if (rows_.dtype == DType::u8) rows_.scales = section<float>(at_.scales, n).data();
  if (header_.flags & kBiased) rows_.biases = section<float>(at_.biases, n).data();
  if (header_.flags & kCentred) {
    mean_ = section<float>(at_.mean, header_.width);
    norms_ = section<float>(at_.norms, n);
  }
  counts_ = section<uint32_t>(at_.counts, n * header_.labels);
  row_begins_ = section<uint64_t>(at_.row_begins, n + 1);
  source_rows_ = section<uint32_t>(at_.source_rows, header_.rows);
  text_begins_ = section<uint64_t>(at_.text_begins, n + 1);
  texts_ = section<char>(at_.texts, header_.text_bytes);
  check_vectors();
  check_tables();
  if (window_.lost()) damaged("size", "the file became shorter while it was read");
}

void ConceptStore::damaged(std::string_view field, std::string_view problem) const {
  fail(ErrorKind::bad_file, "{}: {}: {}", file_.path(), field, problem);
}

template <typename T>
std::span<const T> ConceptStore::section(uint64_t at, uint64_t count) const {
  const std::byte* begin = static_cast<const std::byte*>(window_.data()) + at;
  return {reinterpret_cast<const T*>(begin), static_cast<size_t>(count)};
}

void ConceptStore::check_header() {
  if (file_.size() < sizeof(Header)) damaged("size", "too short for a concept store");
  file_.read(0, &header_, sizeof header_);
  if (header_.magic != kMagic) damaged("magic", "not a concept store");
  if (header_.version != kVersion) damaged("version", "of another version of hone");
  if (!dtype_of(header_.dtype)) damaged("dtype", "unknown");
  if (header_.flags & ~(kCentred | kBiased) || header_.reserved) damaged("flags", "unknown");
  if (header_.width < 1 || header_.width > kMostWidth) damaged("width", "out of range");
  if (header_.concepts == 0) damaged("concepts", "the store is empty");
  const auto sections = layout(header_, file_.size());
  if (!sections) damaged("size", "less than its concepts need");
  at_ = *sections;
  if (at_.hash + sizeof(data::Hash128) != file_.size()) damaged("size", "not that of its concepts");
}

void ConceptStore::check_hash() const {
  data::ContentHash hash;
  hash.bytes(window_.data(), at_.hash);
  data::Hash128 wanted;
  std::memcpy(&wanted, section<char>(at_.hash, sizeof wanted).data(), sizeof wanted);
  if (hash.value() != wanted) damaged("hash", "the file is damaged");
}

/// Checks every value, also those behind a row's width: scans read them.
void ConceptStore::check_vectors() const {
  const auto n = static_cast<size_t>(rows_.count * row_stride(rows_.dtype, rows_.width));
  if (rows_.dtype == DType::f32 && !all_finite({static_cast<const float*>(rows_.data), n})) {
    damaged("vectors", "a value that is not finite");
  }
  if (rows_.dtype == DType::bf16) {
    const bf16* values = static_cast<const bf16*>(rows_.data);
    if (!std::all_of(values, values + n, [](bf16 x) { return std::isfinite(to_float(x)); })) {
      damaged("vectors", "a value that is not finite");
    }
  }
  const auto count = static_cast<size_t>(rows_.count);
  if (rows_.scales && !all_finite({rows_.scales, count})) damaged("scales", "one is not finite");
  if (rows_.biases && !all_finite({rows_.biases, count})) damaged("biases", "one is not finite");
  if (!all_finite(mean_)) damaged("mean", "a value that is not finite");
  if (!all_finite(norms_)) damaged("norms", "one is not finite");
}

void ConceptStore::check_tables() const {
  if (!are_begins(row_begins_, header_.rows)) damaged("rows", "their places are out of order");
  if (!are_begins(text_begins_, header_.text_bytes)) {
    damaged("texts", "their places are out of order");
  }
  for (int64_t i = 0; i < size(); ++i) {
    if (!is_valid_utf8(text(i))) damaged("texts", "not UTF-8");
    const auto rows = source_rows(i);
    if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end()) {
      damaged("rows", "out of order");
    }
  }
}

void ConceptStore::require(const data::Hash128& model, int64_t width, int64_t labels) const {
  if (header_.width != width) {
    fail(ErrorKind::bad_file, "{}: width: its vectors have {} values, the model's have {}",
         file_.path(), header_.width, width);
  }
  if (header_.labels != labels) {
    fail(ErrorKind::bad_file, "{}: labels: it counts {}, the model has {}", file_.path(),
         header_.labels, labels);
  }
  if (header_.model != model) {
    fail(ErrorKind::bad_file, "{}: model: it was made by another model ({}, not {})", file_.path(),
         data::hex(header_.model), data::hex(model));
  }
}

void ConceptStore::prepare_query(const float* u, float* out) const {
  if (centred()) {
    centre_vector(u, mean_.data(), width(), out);
  } else if (out != u) {
    std::copy_n(u, width(), out);
  }
}

void ConceptStore::model_vector(int64_t concept_index, float* out) const {
  read_row(rows_, concept_index, out);
  if (!centred()) return;
  const float norm = norms_[static_cast<size_t>(concept_index)];
  for (size_t i = 0; i < mean_.size(); ++i) out[i] = out[i] * norm + mean_[i];
}

std::string_view ConceptStore::text(int64_t concept_index) const {
  const auto i = static_cast<size_t>(concept_index);
  return {texts_.data() + text_begins_[i],
          static_cast<size_t>(text_begins_[i + 1] - text_begins_[i])};
}

std::span<const uint32_t> ConceptStore::label_counts(int64_t concept_index) const {
  return counts_.subspan(static_cast<size_t>(concept_index) * header_.labels, header_.labels);
}

std::span<const uint32_t> ConceptStore::source_rows(int64_t concept_index) const {
  const auto i = static_cast<size_t>(concept_index);
  return source_rows_.subspan(row_begins_[i], row_begins_[i + 1] - row_begins_[i]);
}

}  // namespace hone::explain
