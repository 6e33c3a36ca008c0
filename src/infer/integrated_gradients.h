#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "data/text_processor.h"
#include "infer/gauss_legendre.h"
#include "models/embedding_gradient.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "plan/runner.h"

namespace hone::infer {

inline constexpr int64_t kDefaultSteps = 50;

struct IntegratedGradientsOptions {
  int64_t steps = kDefaultSteps;  ///< points of the path at which the gradient is taken
  int64_t max_length = 0;         ///< tokens a text; 0: what the folder says
  /// The products' dtype: fp32, or bf16, in which shares are some parts in a hundred off.
  DType dtype = DType::f32;
};

/// What each token gave to the answer's logit.
struct TokenShares {
  std::vector<float> logits;
  int64_t answer = 0;  ///< the logit that is explained: the highest
  std::vector<text::Span> offsets;
  std::vector<uint8_t> special;  ///< 1: a token that no text has; its share is 0
  std::vector<double> shares;    ///< by token
  /// How much the logit is above that of the baseline; the shares sum to it, but for the error of
  /// the path's points.
  double difference = 0;
  int64_t full_tokens = 0;  ///< tokens before the text was cut
};

/// Integrated gradients (Sundararajan, Taly and Yan, 2017) of any classifier of the encoders. The
/// path leads from the embeddings of a baseline, which has the padding token in place of every one
/// that is not special, to those of the text, where the first layer reads them. A self-explaining
/// model keeps the text's phrases and concepts all along its path. The steps of all texts run in
/// packed batches, on the processor. A text's shares have the same bits in any company.
class IntegratedGradients {
 public:
  /// `model` is a folder or a name in the local cache. The pool must outlive this.
  IntegratedGradients(const std::string& model, ThreadPool& pool,
                      const IntegratedGradientsOptions& options = {});

  /// One call runs at a time; each uses the pool's threads.
  std::vector<TokenShares> explain(std::span<const std::string_view> texts);

  /// Sets the points of the path for the texts that are explained from now on.
  void set_steps(int64_t steps) { rule_ = gauss_legendre(steps); }

  const models::ModelConfig& config() const { return *folder_.config; }
  const data::TextProcessor& processor() const { return *processor_; }

 private:
  struct Text;
  struct Group;
  struct Steps;
  void open_model();
  std::vector<Text> encode(std::span<const std::string_view> texts) const;
  void explain_group(std::span<const Text> texts, std::span<TokenShares> out);
  /// Appends a text of the group to a batch of `layers`, with what it keeps along its path.
  void append(const Group& group, int64_t text, data::Batch& batch) const;
  /// Computes what the first layer reads of a batch: [tokens, hidden].
  std::vector<float> embeddings_of(const data::Batch& batch);
  /// Computes the logits of the group's texts, as `hone predict` does, and what they keep.
  std::vector<float> answer(Group& group);
  void run_path(const Group& group, std::span<TokenShares> out);
  void run_steps(const Group& group, const Steps& steps, std::span<TokenShares> out);
  /// Computes the logits of these rows of the group's tokens.
  std::vector<float> logits_at(const std::vector<float>& rows, const Group& group);
  /// Binds `layers` to rows of the batch's tokens.
  void bind_layers(const data::Batch& batch, const std::vector<float>& rows,
                   const std::vector<float>& direction, const std::vector<int32_t>& found);

  ThreadPool& pool_;
  IntegratedGradientsOptions options_;
  Quadrature rule_;
  models::ModelFolder folder_;
  std::unique_ptr<data::TextProcessor> processor_;
  std::unique_ptr<models::Model> model_;
  models::Pass forward_;
  models::EmbeddingGradient passes_;
  std::unique_ptr<Runner> answers_;
  std::unique_ptr<Runner> embeddings_;
  std::unique_ptr<Runner> layers_;
  int64_t most_tokens_ = 0;
};

}  // namespace hone::infer
