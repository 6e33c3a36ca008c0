#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "data/sample_store.h"
#include "metrics/logit_scorer.h"
#include "models/model.h"
#include "plan/runner.h"

namespace hone::train {

struct SplitScores {
  int64_t samples = 0;
  int64_t units = 0;
  double loss = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> metrics;  ///< NaN where undefined
};

/// Runs forward passes over stored samples with the weights as they are now.
class Evaluator {
 public:
  /// All arguments must outlive this. `arena` is that of others which run at other times, so that
  /// no memory is taken twice.
  Evaluator(models::Model& model, const data::Processor& processor, ThreadPool& pool,
            std::shared_ptr<Arena> arena = {}, bool planned = true);

  /// Takes the memory for these samples now, on a device that has its own; passes become smaller
  /// where it is short.
  void reserve(const data::SampleStore& store);

  /// Takes a sample's answer: its logits, or its spans' scores where the model is a parser.
  using Take = std::function<void(int64_t sample, std::span<const float> logits)>;
  struct Range {
    int64_t first = 0;
    int64_t end = 0;
  };
  /// Calls `take` for each sample of the range, in order; in fewer, larger passes than batches
  /// would be. A pass is put together while the device runs the one before. `proceed` is asked
  /// between passes: where it gives false, the run ends and this returns false.
  bool run(const data::SampleStore& store, const Range& range, const Take& take,
           const std::function<bool(int64_t samples)>& proceed = {});

  /// Scores all samples, each rank a part of them, whose scores are put together in the order of
  /// the samples: results do not depend on the number of ranks, on a processor not in a bit.
  SplitScores evaluate(const data::SampleStore& store, ProblemType problem,
                       const std::vector<std::string>& metrics, comm::Communicator& ranks);
  size_t arena_bytes() const { return runner_.arena_bytes(); }

 private:
  /// A pass that was started.
  struct Started {
    int64_t first = 0;
    int64_t end = 0;
    std::shared_ptr<Fetched> logits = {};
    std::vector<size_t> values = {};  ///< how many each sample has
  };
  /// Gives the end of the pass that begins with sample `first`; it is not behind `most`.
  int64_t end_of_pass(const data::SampleStore& store, int64_t first, int64_t most) const;
  /// Gives the most of every extent that a pass has.
  Extents largest_pass(const data::SampleStore& store) const;
  Started start(const data::SampleStore& store, int64_t first, int64_t most);
  /// Runs the samples that are this rank's and has `add` score each; fills in what all scorers
  /// have. `scorer` is then that of all ranks' samples.
  template <typename Scorer>
  SplitScores score(const data::SampleStore& store, const Take& add, Scorer& scorer,
                    const Scorer& empty, comm::Communicator& ranks);
  SplitScores evaluate_trees(const data::SampleStore& store, comm::Communicator& ranks);

  models::Model& model_;
  const data::Processor& processor_;
  ThreadPool& pool_;
  models::Pass pass_;
  Runner runner_;
  int64_t pass_units_;
  data::Batch batch_;
  std::vector<std::byte> buffer_;
};

}  // namespace hone::train
