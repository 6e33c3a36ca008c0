#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "models/batch.h"
#include "models/encoder.h"
#include "models/folder.h"
#include "models/load.h"
#include "plan/execution.h"
#include "text/tokenizer.h"

namespace hone::infer {

struct SessionOptions {
  std::optional<DType> dtype = {};  ///< of the products; absent: int8 where stored so, else fp32
  /// Under int8: instead of what the folder keeps in higher precision.
  std::optional<std::vector<std::string>> kept = {};
  int threads = 0;         ///< 0: the cores that the process may use
  int64_t max_length = 0;  ///< tokens a sequence with special ones; 0: what the folder says
  bool truncate = true;    ///< false: a longer input is an error
  models::Output output = models::Output::logits;
  /// Of embeddings; absent: what a sentence-transformers folder says, else the mean, as it is.
  std::optional<ops::Pooling> pooling = {};
  std::optional<bool> normalize = {};
};

/// A text or a pair.
using Input = text::TextInput;

struct Answer {
  std::vector<float> values;  ///< logits, or the embedding
  int64_t tokens = 0;         ///< that the model read
  int64_t full_tokens = 0;    ///< that the input has; more than `tokens` where it was cut
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
  const text::Tokenizer& tokenizer() const { return tokenizer_; }
  const models::LoadReport& load_report() const { return report_; }
  int64_t max_length() const { return max_length_; }
  /// Spent on tokenising by run(), in all.
  double tokenize_seconds() const { return tokenize_seconds_; }
  int64_t output_width() const { return forward_.output.width; }
  const Plan& plan() const { return forward_.plan; }
  Execution& execution() { return *execution_; }
  ThreadPool& pool() { return pool_; }

 private:
  bool truncate_;
  ThreadPool pool_;
  models::ModelFolder folder_;
  text::Tokenizer tokenizer_;
  int64_t max_length_ = 0;
  std::unique_ptr<models::Encoder> encoder_;
  models::LoadReport report_;
  models::Forward forward_;
  std::unique_ptr<Execution> execution_;
  std::vector<text::Encoding> encodings_;
  double tokenize_seconds_ = 0;
  models::Batch batch_;
};

}  // namespace hone::infer
