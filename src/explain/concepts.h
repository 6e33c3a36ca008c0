#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "explain/concept_set.h"
#include "explain/concept_store.h"
#include "explain/top_k.h"

namespace hone::explain {

/// What a model retrieves from, of a store or of a run that trains: the same concepts give the same
/// bits either way. Threads may share it, each with a pool of its own.
class Concepts {
 public:
  /// Takes the vectors of a set; `own` says what each training row must not retrieve.
  Concepts(SearchVectors vectors, std::shared_ptr<const RowConcepts> own, ThreadPool& pool);
  /// Takes the vectors that a store holds.
  Concepts(std::shared_ptr<const ConceptStore> store, Scan scan, ThreadPool& pool);

  int64_t size() const { return rows_.count; }
  int64_t width() const { return rows_.width; }
  /// Gives the store that the concepts are of; null where they are a run's.
  const ConceptStore* store() const { return store_.get(); }
  /// What follows is all that a search reads: vectors as they are searched, what centring took off
  /// them (both empty where it took off nothing), and what rows must not find (null: nothing).
  const ConceptRows& rows() const { return rows_; }
  std::span<const float> mean() const { return mean_; }
  std::span<const float> norms() const { return norms_; }
  const RowConcepts* own() const { return own_.get(); }
  /// Gives the vectors that a run made; what comes from a store has none here.
  const SearchVectors& vectors() const { return vectors_; }

  /// Finds the k nearest concepts for each of `count` sentences' vectors u [count, width]; `out`
  /// becomes [count, k], best first, with index -1 where there are fewer. Where `rows` is not null
  /// it has the training row of each sentence, whose own phrases are not found.
  void retrieve(const float* u, int64_t count, const int64_t* rows, int64_t k, ThreadPool& pool,
                std::vector<Neighbour>& out) const;
  /// Writes a concept's vector as the model gave it, [width].
  void vector(int64_t concept_index, float* out) const;

 private:
  SearchVectors vectors_;
  std::shared_ptr<const ConceptStore> store_;
  std::shared_ptr<const RowConcepts> own_;
  ConceptRows rows_;
  std::span<const float> mean_;
  std::span<const float> norms_;
  TopK search_;
};

}  // namespace hone::explain
