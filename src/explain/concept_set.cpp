#include "explain/concept_set.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/utf8.h"

namespace hone::explain {

ConceptSet::ConceptSet(int64_t width, int64_t labels) : width_(width), labels_(labels) {}

int64_t ConceptSet::add(std::string_view text, int64_t label, int64_t row) {
  const auto [entry, is_new] = index_.try_emplace(replace_invalid_utf8(text), size());
  if (is_new) {
    texts_.push_back(&entry->first);
    rows_.emplace_back();
    counts_.resize(counts_.size() + static_cast<size_t>(labels_));
    vectors_.resize(vectors_.size() + static_cast<size_t>(width_));
    vectors_so_far_.push_back(0);
  }
  auto& rows = rows_[static_cast<size_t>(entry->second)];
  const auto wanted = static_cast<uint32_t>(row);
  const auto place = std::lower_bound(rows.begin(), rows.end(), wanted);
  if (place != rows.end() && *place == wanted) return entry->second;
  rows.insert(place, wanted);
  if (label >= 0 && label < labels_) {
    ++counts_[static_cast<size_t>(entry->second * labels_ + label)];
  }
  return entry->second;
}

void ConceptSet::add_vector(int64_t concept_index, const float* vector) {
  float* mean = vectors_.data() + concept_index * width_;
  const auto n = static_cast<float>(++vectors_so_far_[static_cast<size_t>(concept_index)]);
  // Equal vectors leave a running mean of them exactly as it was.
  for (int64_t i = 0; i < width_; ++i) mean[i] += (vector[i] - mean[i]) / n;
}

void ConceptSet::clear_vectors() {
  std::fill(vectors_.begin(), vectors_.end(), 0.0f);
  std::fill(vectors_so_far_.begin(), vectors_so_far_.end(), 0);
}

std::span<const uint32_t> ConceptSet::label_counts(int64_t i) const {
  const auto labels = static_cast<size_t>(labels_);
  return std::span(counts_).subspan(static_cast<size_t>(i) * labels, labels);
}

void RowConcepts::add(int64_t concept_index, std::span<const uint32_t> rows) {
  for (const uint32_t row : rows) pairs_.emplace_back(row, static_cast<int32_t>(concept_index));
}

void RowConcepts::finish() {
  std::sort(pairs_.begin(), pairs_.end());
  concepts_.reserve(pairs_.size());
  for (const auto& [row, concept_index] : pairs_) {
    if (rows_.empty() || rows_.back() != row) {
      rows_.push_back(row);
      begins_.push_back(concepts_.size());
    }
    concepts_.push_back(concept_index);
  }
  begins_.push_back(concepts_.size());
  pairs_ = {};
}

std::span<const int32_t> RowConcepts::of(int64_t row) const {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), row);
  if (found == rows_.end() || *found != row) return {};
  const auto i = static_cast<size_t>(found - rows_.begin());
  return std::span(concepts_).subspan(begins_[i], begins_[i + 1] - begins_[i]);
}

SearchVectors search_vectors(const ConceptSet& concepts, bool centred) {
  const int64_t width = concepts.width();
  const int64_t stride = row_stride(DType::f32, width);
  const auto elements = static_cast<size_t>(concepts.size() * stride);
  SearchVectors out{Buffer(elements * sizeof(float)), concepts.size(), width};
  std::fill_n(out.data.as<float>(), elements, 0.f);
  std::vector<double> sums(static_cast<size_t>(width));
  for (int64_t row = 0; row < concepts.size(); ++row) {
    const float* vector = concepts.vector(row);
    for (int64_t i = 0; i < width; ++i) {
      if (!std::isfinite(vector[i])) {
        fail(ErrorKind::failed, "concepts: the vector of {} has a value that is not finite",
             quote(concepts.text(row)));
      }
      sums[static_cast<size_t>(i)] += double{vector[i]};
    }
    std::copy_n(vector, width, out.data.as<float>() + row * stride);
  }
  if (!centred) return out;
  for (const double sum : sums) {
    out.mean.push_back(
        static_cast<float>(sum / static_cast<double>(std::max<int64_t>(concepts.size(), 1))));
  }
  for (int64_t row = 0; row < concepts.size(); ++row) {
    float* vector = out.data.as<float>() + row * stride;
    out.norms.push_back(centre_vector(vector, out.mean.data(), width, vector));
  }
  return out;
}

}  // namespace hone::explain
