#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/self_explainer.h"
#include "infer/word_shares.h"
#include "serve/served_model.h"
#include "serve/wire_tei.h"

namespace hone::serve {

/// What `/explain` is asked for.
struct ExplainAsk {
  enum class Method { best, gradients };

  Work work;
  Method method = Method::best;  ///< the model's own reasons where it has some, else gradients
  int64_t steps = infer::kDefaultSteps;  ///< points of the gradients' path
  infer::SelfExplainerOptions own = {};  ///< what is told of own reasons
};

/// "inputs" is a text or a list of texts; "method", "steps", "ablate" and "concepts" are what
/// `hone explain` has.
ExplainAsk read_explain(const RequestFields& fields, const ReadLimits& limits);
/// Writes an object, or a list of them, each as `hone explain` writes it on a line.
std::string write_explanations(bool single, std::span<const explain::Explanation> explanations);

/// Explains what a served model answers. It opens the model once more, on the processor, when it is
/// first asked, and keeps it; where that does not fit into the memory that is free, asking is a
/// RequestError.
class ModelExplainer {
 public:
  /// A model that is served under a memory budget, or that is no classifier of texts, is a
  /// RequestError.
  explicit ModelExplainer(const ModelSettings& settings);

  /// Explains the texts of `ask`. A text that is too long, where that is not allowed, is an Error.
  /// One call at a time.
  std::vector<explain::Explanation> explain(const ExplainAsk& ask, bool truncate);

 private:
  infer::TextExplainer& explainer_for(const ExplainAsk& ask);
  void require_memory() const;

  infer::SessionOptions session_;
  const std::string folder_;
  ThreadPool pool_;
  const bool explains_itself_;
  std::unique_ptr<infer::SelfExplainer> own_;
  std::unique_ptr<infer::GradientExplainer> gradients_;
};

}  // namespace hone::serve
