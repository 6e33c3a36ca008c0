#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "explain/concept_set.h"
#include "models/explainer.h"
#include "plan/runner.h"

namespace hone::models {

/// Gives a self-explaining model's vectors to concepts: what its head's first layer makes of each
/// text alone, in fp32, with the weights as they are. A text's vector has the same bits in any
/// company.
class ConceptEncoder {
 public:
  /// All arguments must outlive this. Where the model is in training, weights may change between
  /// runs; on a GPU all that runs it must be there already then, or be in fp32, too.
  ConceptEncoder(Explainer& model, const data::ExplainProcessor& processor, ThreadPool& pool,
                 bool in_training);

  /// Calls `take` with the vector of each text, in order.
  using Take = std::function<void(int64_t text, const float* vector)>;
  void run(std::span<const data::EncodedSample> texts, const Take& take);
  /// Gives all concepts new vectors, and what is searched of them, with hubs taken down by these
  /// sentences. The concepts' texts are tokenised at the first call, and must be the same at each.
  explain::SearchVectors encode(explain::ConceptSet& concepts,
                                std::span<const data::EncodedSample> sentences);

 private:
  Explainer& model_;
  const data::ExplainProcessor& processor_;
  ThreadPool& pool_;
  Pass pass_;
  Runner runner_;
  std::vector<data::EncodedSample> samples_;
};

/// Adds the phrases of a training row to concepts: the constituents of 2 to `most_words` words of
/// the text's tree, which may be the whole. A text without a tree has none.
void add_concepts(std::string_view text, const data::TreeBank& trees, int64_t most_words,
                  int64_t label, int64_t row, explain::ConceptSet& concepts);

/// Hashes the weights that a folder was trained to: a model.safetensors, an adapter. A folder with
/// neither is an error.
data::Hash128 hash_weights(const std::string& folder);

/// Opens the concepts of a self-explaining model's folder. A store that is missing, damaged or of
/// another model is an error that names it.
std::shared_ptr<const explain::Concepts> open_concepts(const std::string& folder,
                                                       const Explainer& model, ThreadPool& pool);

}  // namespace hone::models
