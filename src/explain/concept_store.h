#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/mapped_window.h"
#include "explain/concept_rows.h"
#include "explain/concept_store_format.h"

namespace hone::explain {

/// The file beside a model's config.json.
inline constexpr const char* kConceptFile = "hone_concepts.bin";

/// The concepts of a model: phrases of its training set with their vectors, how often each label
/// was that of a row with the phrase, and those rows. One file, mapped; concept_store_format.h
/// describes it. A store is checked whole when it is opened, every number and the hash of all, so
/// that whatever is wrong is one error that names the file. Any thread may use it.
class ConceptStore {
 public:
  explicit ConceptStore(const std::string& path);

  /// Fails, naming the file, where this store is not of the model with this hash, this width of
  /// sentence vectors and this many labels.
  void require(const data::Hash128& model, int64_t width, int64_t labels) const;

  int64_t size() const { return static_cast<int64_t>(header_.concepts); }
  int64_t width() const { return header_.width; }
  int64_t labels() const { return header_.labels; }
  const data::Hash128& model() const { return header_.model; }
  /// Gives the vectors to search in, with their biases where the store has them.
  const ConceptRows& rows() const { return rows_; }

  /// Says whether the vectors were centred and brought to length 1: those of rows() are
  /// (v - mean()) / norm. A query is then centred by prepare_query().
  bool centred() const { return !mean_.empty(); }
  std::span<const float> mean() const { return mean_; }
  /// Gives the lengths that centring took off, [size]; empty where the store is not centred.
  std::span<const float> norms() const { return norms_; }
  /// Makes of a sentence's vector [width] what rows() are searched with: (u - mean()) / norm where
  /// the store is centred, otherwise u. `out` may be `u`.
  void prepare_query(const float* u, float* out) const;
  /// Writes the vector of a concept as the model gave it, in fp32 [width]: with the mean and the
  /// length that centring took off.
  void model_vector(int64_t concept_index, float* out) const;

  std::string_view text(int64_t concept_index) const;
  /// Counts, for each label, the training rows with this label that have the phrase.
  std::span<const uint32_t> label_counts(int64_t concept_index) const;
  /// Gives the rows of the training set that have the phrase, from 0, ascending.
  std::span<const uint32_t> source_rows(int64_t concept_index) const;

 private:
  template <typename T>
  std::span<const T> section(uint64_t at, uint64_t count) const;
  void check_header();
  void check_hash() const;
  void check_vectors() const;
  void check_tables() const;
  [[noreturn]] void damaged(std::string_view field, std::string_view problem) const;

  InputFile file_;
  concept_format::Header header_;
  concept_format::Sections at_;
  MappedWindow window_;
  ConceptRows rows_;
  std::span<const float> mean_;
  std::span<const float> norms_;
  std::span<const uint32_t> counts_;
  std::span<const uint64_t> row_begins_;
  std::span<const uint32_t> source_rows_;
  std::span<const uint64_t> text_begins_;
  std::span<const char> texts_;
};

}  // namespace hone::explain
