#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "explain/concepts.h"
#include "models/concept_encoder.h"
#include "train/corpus.h"
#include "train/datasets.h"
#include "train/options.h"

namespace hone::train {

/// Gives the trees of the training rows' texts: those of the options' files, and of the other texts
/// those that the options' parser makes. Where neither is given, the built-in reviews have trees of
/// their own; elsewhere that is an error.
std::shared_ptr<const data::TreeBank> open_row_trees(const Options& options, const Corpus& corpus,
                                                     ThreadPool& pool);

/// Keeps what a self-explaining model retrieves from while it is trained: the phrases of its
/// training rows, encoded anew at each epoch's begin and at the end. The model retrieves from what
/// was encoded last.
class ConceptKeeper {
 public:
  struct Parts {
    const Options& options;
    const Corpus& corpus;
    const Datasets& data;
    TrainedModel& model;
    ThreadPool& pool;
  };

  /// Collects the phrases; what can give none is an error. All parts must outlive this.
  explicit ConceptKeeper(const Parts& parts);

  /// Says what was collected, and what was left out.
  const std::vector<std::string>& notes() const { return notes_; }
  int64_t size() const { return concepts_.size(); }

  /// Encodes the concepts with the weights as they are.
  void encode();
  /// Encodes the concepts where the epoch has not begun yet.
  void begin_epoch(int64_t epoch);

  /// Gives what writes a checkpoint's copy of the concepts as they are now, from any thread.
  std::function<void(const std::string& path)> copy_writer() const;
  /// Takes a checkpoint's copy, with which this epoch had begun.
  void restore(const std::string& path, int64_t epoch);
  /// Writes the store of a model's folder, whose weights are there.
  void write_store(const std::string& folder) const;

 private:
  void collect(const data::TreeBank& trees);
  void hand_over(explain::SearchVectors vectors);
  data::Hash128 copy_hash() const;

  Parts parts_;
  models::Explainer& model_;
  explain::ConceptSet concepts_;
  std::shared_ptr<const explain::RowConcepts> own_;
  std::vector<data::EncodedSample> sentences_;  ///< the training rows that tell hubs
  /// Is there from the first encoding on: the plans of the steps come before it.
  std::optional<models::ConceptEncoder> encoder_;
  std::shared_ptr<const explain::Concepts> now_;
  std::optional<int64_t> epoch_;  ///< the epoch that the concepts were encoded for
  std::vector<std::string> notes_;
};

}  // namespace hone::train
