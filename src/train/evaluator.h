#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/token_store.h"
#include "metrics/judge.h"
#include "models/encoder.h"
#include "plan/execution.h"

namespace hone::train {

struct Evaluation {
  int64_t samples = 0;
  int64_t tokens = 0;
  double loss = 0;
  double seconds = 0;
  std::vector<std::pair<std::string, double>> metrics;  ///< NaN where undefined
};

/// Forward passes over tokenised samples with the weights as they are now.
class Evaluator {
 public:
  /// Both must outlive this. `arena`: of others that run at other times, to take no memory twice.
  Evaluator(models::Encoder& encoder, ThreadPool& pool,
            std::shared_ptr<Arena> arena = std::make_shared<Arena>());

  /// On a GPU: takes the memory for these samples now; passes become smaller where it is short.
  void reserve(const data::TokenStore& store);

  using Take = std::function<void(int64_t sample, std::span<const float> logits)>;
  /// Calls `take` for each sample, in order; in fewer, larger passes than batches would be.
  /// `proceed` is asked between passes: false ends it, and so does this function return.
  bool run(const data::TokenStore& store, const Take& take,
           const std::function<bool(int64_t samples)>& proceed = {});

  Evaluation evaluate(const data::TokenStore& store, metrics::Problem problem,
                      const std::vector<std::string>& metrics);
  size_t arena_bytes() const { return execution_.arena_bytes(); }

 private:
  /// Behind the last sample of the pass that begins with `first`.
  int64_t end_of_pass(const data::TokenStore& store, int64_t first) const;
  /// The most of every extent that a pass has.
  Extents largest_pass(const data::TokenStore& store) const;

  models::Encoder& encoder_;
  ThreadPool& pool_;
  models::Forward forward_;
  Execution execution_;
  int64_t batch_tokens_;
};

}  // namespace hone::train
