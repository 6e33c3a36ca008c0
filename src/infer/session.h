#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "infer/exits.h"
#include "infer/layered.h"
#include "infer/streamed_weights.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "models/load.h"
#include "plan/execution.h"
#include "plan/gpu_tuning.h"
#include "text/tokenizer.h"

namespace hone::infer {

struct SessionOptions {
  std::optional<DType> dtype = {};  ///< of the products; absent: int8 where stored so, else fp32
  /// Under int8: instead of what the folder keeps in higher precision.
  std::optional<std::vector<std::string>> kept = {};
  /// As select_device() takes it. int8 and a memory budget are the processor's: "auto" is it then.
  std::string device = "cpu";
  std::string tuning = {};  ///< on a GPU: see GpuTuning
  int threads = 0;          ///< 0: the cores that the process may use
  int64_t max_length = 0;   ///< tokens a sequence with special ones; 0: what the folder says
  bool truncate = true;     ///< false: a longer input is an error
  models::Output output = models::Output::logits;
  /// Of embeddings; absent: what a sentence-transformers folder says, else the mean, as it is.
  std::optional<ops::Pooling> pooling = {};
  std::optional<bool> normalize = {};
  /// Of a model with early exits: false runs all layers. Others in place of the folder's settings.
  bool exits = true;
  std::optional<int64_t> patience = {};
  std::optional<double> entropy = {};
  double deadline = 0;  ///< seconds for one text; 0: none. Only of a model with exits.
  /// The most that the process may have resident, in bytes; 0: no limit. Weights are then streamed.
  uint64_t memory_budget = 0;
};

/// A text or a pair.
using Input = text::TextInput;

struct Answer {
  std::vector<float> values;  ///< logits, or the embedding
  int64_t tokens = 0;         ///< that the model read
  int64_t full_tokens = 0;    ///< that the input has; more than `tokens` where it was cut
  int64_t layers = 0;         ///< that it took, of a model with exits; else 0
  double seconds = 0;         ///< that it took, where there was a deadline
  bool truncated() const { return full_tokens > tokens; }
};

/// A loaded model and its tokenizer, ready to answer. One call at a time; each uses all threads.
class Session {
 public:
  /// `model` is a folder or a name in the local Hugging Face cache.
  Session(const std::string& model, const SessionOptions& options);

  /// Answers in the order of the inputs. A text's answer has the same bits in any company.
  std::vector<Answer> run(std::span<const Input> inputs);
  /// Rows of `values` for sequences of token ids: one forward pass.
  const float* forward(const models::Batch& batch);

  const models::ModelFolder& folder() const { return folder_; }
  const models::EncoderConfig& config() const { return folder_.config; }
  const models::Encoder& encoder() const { return *encoder_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const models::LoadReport& load_report() const { return report_; }
  int64_t max_length() const { return max_length_; }
  /// Spent on tokenising by run(), in all.
  double tokenize_seconds() const { return tokenize_seconds_; }
  int64_t output_width() const { return forward_.output.width; }
  const Plan& plan() const { return forward_.plan; }
  /// Without a memory budget alone.
  Execution& execution() { return *execution_; }
  /// Null without a memory budget.
  const StreamedWeights* streamed() const { return streamed_.get(); }
  ThreadPool& pool() { return pool_; }
  bool on_gpu() const { return gpu_; }
  /// Null where the model has no exits, or they are not used.
  ExitPass* exits() { return exits_.get(); }

 private:
  void open_exits(const SessionOptions& options);
  std::vector<Answer> run_together(std::span<const Input> inputs, double deadline);
  void answer_batch(std::span<Answer> answers, double deadline);
  /// Under a budget: fewer at a time, whose texts and tokens count too.
  std::vector<Answer> run_in_lots(std::span<const Input> inputs);
  bool wants_gpu(const SessionOptions& options) const;
  void open_weights(const SessionOptions& options);
  void open_execution();
  void fit_to(const SessionOptions& options);
  /// The pass of streamed weights.
  Layered& layered() { return exits_ ? exits_->layered() : *layered_; }
  bool truncate_;
  bool gpu_ = false;
  std::optional<GpuTuning> tuning_;
  ThreadPool pool_;
  models::ModelFolder folder_;
  std::optional<text::Tokenizer> tokenizer_;
  int64_t max_length_ = 0;
  std::unique_ptr<models::Encoder> encoder_;
  models::LoadReport report_;
  models::Forward forward_;
  std::unique_ptr<Execution> execution_;
  std::vector<text::Encoding> encodings_;
  double tokenize_seconds_ = 0;
  models::Batch batch_;
  std::unique_ptr<ExitPass> exits_;
  double deadline_ = 0;
  std::unique_ptr<StreamedWeights> streamed_;
  std::unique_ptr<Layered> layered_;  ///< of streamed weights without exits
  std::vector<float> rows_;           ///< of layered()
  int64_t batch_tokens_;
};

}  // namespace hone::infer
