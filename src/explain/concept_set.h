#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/memory.h"
#include "explain/concept_rows.h"

namespace hone::explain {

/// Phrases of a training set on their way to a store. Equal texts are one concept: its rows and the
/// counts of their labels add up, each row once, and its vector is the mean of those that came.
class ConceptSet {
 public:
  /// `labels` may be 0, where rows have none to count.
  ConceptSet(int64_t width, int64_t labels);

  /// Takes a phrase of a row and returns its concept, which has this index for good. `label` is
  /// from 0, or -1 for a row without one.
  int64_t add(std::string_view text, int64_t label, int64_t row);
  /// Takes a vector [width] for a concept: the first sets it, each further one goes into the mean.
  void add_vector(int64_t concept_index, const float* vector);
  int64_t add(std::string_view text, const float* vector, int64_t label, int64_t row) {
    const int64_t index = add(text, label, row);
    add_vector(index, vector);
    return index;
  }
  /// Forgets all vectors, so that the concepts can be encoded anew.
  void clear_vectors();

  int64_t size() const { return static_cast<int64_t>(texts_.size()); }
  int64_t width() const { return width_; }
  int64_t labels() const { return labels_; }
  const std::string& text(int64_t i) const { return *texts_[static_cast<size_t>(i)]; }
  /// Gives the vector [width]; zeros where none came.
  const float* vector(int64_t i) const { return vectors_.data() + i * width_; }
  std::span<const uint32_t> label_counts(int64_t i) const;
  /// Gives the rows with the phrase, ascending.
  std::span<const uint32_t> source_rows(int64_t i) const { return rows_[static_cast<size_t>(i)]; }

 private:
  int64_t width_;
  int64_t labels_;
  std::unordered_map<std::string, int64_t> index_;
  std::vector<const std::string*> texts_;  ///< keys of index_
  std::vector<std::vector<uint32_t>> rows_;
  std::vector<uint32_t> counts_;         ///< [size, labels]
  std::vector<float> vectors_;           ///< [size, width]
  std::vector<int64_t> vectors_so_far_;  ///< [size]
};

/// The concepts that each training row has: what it must not retrieve.
class RowConcepts {
 public:
  /// Takes a ConceptSet or a ConceptStore.
  template <typename Concepts>
  explicit RowConcepts(const Concepts& concepts) {
    for (int64_t i = 0; i < concepts.size(); ++i) add(i, concepts.source_rows(i));
    finish();
  }
  /// Gives the concepts of a row, ascending; none for a row without any.
  std::span<const int32_t> of(int64_t row) const;
  /// Gives one more than the last row that has any.
  int64_t rows() const { return rows_.empty() ? 0 : int64_t{rows_.back()} + 1; }

 private:
  void add(int64_t concept_index, std::span<const uint32_t> rows);
  void finish();

  std::vector<std::pair<uint32_t, int32_t>> pairs_;  ///< row and concept, while it is made
  std::vector<uint32_t> rows_;                       ///< rows with concepts, ascending
  std::vector<size_t> begins_;                       ///< places in concepts_, and its end
  std::vector<int32_t> concepts_;
};

/// The vectors of a set in the form in which they are searched and stored, fp32.
struct SearchVectors {
  Buffer data;
  int64_t count = 0;
  int64_t width = 0;
  // The mean that centring took off [width] and the lengths before it [count].
  std::vector<float> mean{};
  std::vector<float> norms{};
  std::vector<float> biases{};  ///< see ConceptRows [count]; empty: none

  ConceptRows rows() const {
    return {DType::f32,  count,   width,
            data.data(), nullptr, biases.empty() ? nullptr : biases.data()};
  }
};

/// Lays out the vectors of a set; where `centred`, less their mean and brought to length 1, which
/// takes off what all phrases have in common. A vector that is not finite is an error that names
/// its text.
SearchVectors search_vectors(const ConceptSet& concepts, bool centred);

class ConceptStore;
/// Gives the vectors that were stored, in memory; those of a store in fp32 are so to the bit.
SearchVectors search_vectors(const ConceptStore& store);

}  // namespace hone::explain
