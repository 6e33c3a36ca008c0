#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "data/processor.h"
#include "data/text_processor.h"
#include "infer/exits.h"
#include "infer/layerwise_forward.h"
#include "infer/streamed_weights.h"
#include "models/folder.h"
#include "models/load.h"
#include "models/model.h"
#include "plan/cuda_tuning.h"
#include "plan/runner.h"

namespace hone::infer {

struct SessionOptions {
  std::optional<DType> dtype = {};  ///< products' dtype; absent: int8 where stored so, else fp32
  /// Names the parts kept in higher precision under int8, instead of what the folder says.
  std::optional<std::vector<std::string>> kept = {};
  /// Names what select_device() takes. int8 and a memory budget are the processor's: "auto" is it
  /// then.
  std::string device = "cpu";
  std::string tuning = {};  ///< a file of a GPU's fastest products, see CudaTuning
  int threads = 0;          ///< 0: the cores that the process may use
  int64_t max_length = 0;   ///< tokens a sequence with special ones; 0: what the folder says
  bool truncate = true;     ///< false: a longer input is an error
  models::Output output = models::Output::logits;
  /// Says how embeddings are made; absent: what a sentence-transformers folder says, else the mean,
  /// as it is.
  std::optional<ops::Pooling> pooling = {};
  std::optional<bool> normalize = {};
  /// Where false, a model with early exits runs all layers. Patience, entropy and confidence take
  /// the place of the folder's settings.
  bool exits = true;
  std::optional<int64_t> patience = {};
  std::optional<double> entropy = {};
  std::optional<double> confidence = {};
  double deadline = 0;  ///< seconds for one text; 0: none. Read for a model with exits alone.
  /// Sets the most bytes that the process may have resident; 0: no limit. Weights are then
  /// streamed.
  uint64_t memory_budget = 0;
  bool planned = true;   ///< false: steps run one by one, values share no memory
  bool concepts = true;  ///< false: a self-explaining model is opened without its concepts
  /// Where true, weights for the processor are loaded by one thread of low priority, so that others
  /// of this process answer meanwhile about as fast as before.
  bool loads_aside = false;
  image::DecodeLimits image_limits = {};  ///< what an image may be, for models of images
};

/// A text or a pair of texts, or the path of an image.
using Input = data::RawSample;

struct Answer {
  std::vector<float> values;  ///< logits, or the embedding
  int64_t tokens = 0;         ///< tokens that the model read
  int64_t full_tokens = 0;    ///< tokens that the input has; more than `tokens` where it was cut
  int64_t layers = 0;         ///< layers that it took in a model with exits; else 0
  double seconds = 0;         ///< seconds that it took, where there was a deadline
  int64_t width = 0;          ///< width of an image in its file, as height; 0 of others
  int64_t height = 0;
  bool truncated() const { return full_tokens > tokens; }
};

/// Says whether all values are numbers; a model with bad weights may give others for some inputs.
bool finite(const Answer& answer);

/// The results of a batch, one of both kinds.
struct StartedBatch {
  std::shared_ptr<Fetched> rows;       ///< fp32 [samples, width], perhaps on their way
  std::vector<ExitAnswer> exits = {};  ///< answers of a model with exits
};

/// A loaded model and its tokenizer, ready to answer. One call at a time; each uses all threads. On
/// a GPU all calls come from the thread that made it.
class Session {
 public:
  /// `model` is a folder or a name in the local Hugging Face cache.
  Session(const std::string& model, const SessionOptions& options);

  /// Answers the inputs in their order. A text's answer has the same bits in any company.
  std::vector<Answer> run(std::span<const Input> inputs);
  /// Runs one forward pass over sequences of token ids; gives rows of `values`.
  const float* forward(const data::Batch& batch);

  /// Encodes the inputs by all threads; valid until the next call.
  const std::vector<data::EncodedSample>& encode(std::span<const Input> inputs);
  /// Encodes as encode() does, but says what is wrong with each input; see
  /// data::Processor::try_encode(). Empty where nothing can be.
  std::vector<std::string> try_encode(std::span<const Input> inputs);
  /// Gives what try_encode() encoded.
  const std::vector<data::EncodedSample>& encoded() const { return encoded_; }
  /// Encodes as encode() does, but a text that is too long loses its begin.
  const std::vector<data::EncodedSample>& encode_cut_left(std::span<const Input> inputs);
  /// Gives the samples of token ids, special ones included, cut as texts are. An id that the model
  /// does not have is an error.
  const std::vector<data::EncodedSample>& encode_ids(std::span<const std::vector<int32_t>> ids,
                                                     bool cut_left);
  /// Answers encoded samples within the deadline, of which `spent` seconds are gone, or within the
  /// budget.
  std::vector<Answer> answer(std::span<const data::EncodedSample> samples, double spent = 0);
  /// Gives the vectors of all tokens of each sample, [tokens, hidden], by a pass that is recorded
  /// at the first call and shares the weights. A memory budget rules it out.
  std::vector<Answer> answer_tokens(std::span<const data::EncodedSample> samples);
  /// Starts a forward pass, without a deadline. The batch may be filled anew at once, and another
  /// be started.
  StartedBatch start(const data::Batch& batch);
  /// Says whether start() returns before the work is done.
  bool runs_ahead() const;
  /// Gives the tokens or the like that make a batch efficient, or fit into the budget.
  int64_t pass_units() const { return pass_units_; }
  /// Says whether inputs have to go through run() or answer(), which keep to the deadline or to the
  /// budget.
  bool bounded() const { return deadline_ > 0 || streamed_; }
  /// Gives the number of inputs that answer() should get at a time; 0: any number.
  int64_t pass_inputs() const;
  bool truncates() const { return options_.truncate; }
  /// Loads the weights and makes all that runs them anew, after a device failed. Folder, config and
  /// processor stay where they are. Where it throws, only those are left.
  void reopen();

  const models::ModelFolder& folder() const { return folder_; }
  const models::ModelConfig& config() const { return *folder_.config; }
  const models::Model& model() const { return *model_; }
  models::Model& model() { return *model_; }
  const data::Processor& processor() const { return *processor_; }
  /// Gives the processor of a model that reads texts; for others it is an error.
  const data::TextProcessor& text_processor() const;
  const models::LoadReport& load_report() const { return report_; }
  int64_t max_units() const { return processor_->max_units(); }
  bool reads_images() const {
    return models::family_of(*folder_.config).samples == data::SampleKind::image;
  }
  /// Gives the seconds spent on encoding samples, in all.
  double encode_seconds() const { return encode_seconds_; }
  int64_t output_width() const { return forward_.output.width; }
  /// Gives the whole forward pass, as it was recorded.
  const models::Pass& pass() const { return forward_; }
  const Plan& plan() const { return *forward_.plan; }
  /// Gives the runner, which exists without a memory budget alone.
  Runner& runner() { return *runner_; }
  /// Gives the streamed weights; null without a memory budget.
  const StreamedWeights* streamed() const { return streamed_.get(); }
  /// Tells `sink` of every step of the passes from now on; null: nobody hears of them.
  void set_sink(RunSink* sink);
  ThreadPool& pool() { return pool_; }
  bool on_gpu() const { return gpu_; }
  /// Gives the pass with exits; null where the model has no exits, or they are not used.
  ExitPass* exits() { return exits_.get(); }

 private:
  void open_processor();
  void open_aside();
  void open_exits();
  std::vector<Answer> run_together(std::span<const Input> inputs);
  /// Answers one sample within the deadline; it runs alone, because nothing else may delay it.
  Answer answer_alone(const data::EncodedSample& sample, double spent);
  void refuse_truncated(std::span<const Input> inputs) const;
  /// Answers under a budget: fewer at a time, because texts and tokens count too.
  std::vector<Answer> run_in_lots(std::span<const Input> inputs);
  bool wants_gpu() const;
  /// Opens the weights; loads them by the pool's threads.
  void open_weights(ThreadPool& pool);
  void open_runner();
  void open_token_pass();
  /// Opens what needs the weights' places: exits, and what runs the passes.
  void open_passes();
  void fit_to_budget();
  /// Gives the pass of streamed weights.
  LayerwiseForward& layerwise() { return exits_ ? exits_->layerwise() : *layerwise_; }
  /// Locks the GPU while work is started on it: all sessions of a process share its one stream.
  std::unique_lock<std::mutex> hold_gpu() const;
  const SessionOptions options_;
  bool gpu_ = false;
  std::optional<CudaTuning> tuning_;
  ThreadPool pool_;
  models::ModelFolder folder_;
  std::unique_ptr<data::Processor> processor_;
  std::unique_ptr<models::Model> model_;
  models::LoadReport report_;
  models::Pass forward_;
  std::unique_ptr<Runner> runner_;
  models::Pass tokens_;  ///< what answer_tokens() runs, once it was called
  std::unique_ptr<Runner> token_runner_;
  std::vector<data::EncodedSample> encoded_;
  double encode_seconds_ = 0;
  std::unique_ptr<ExitPass> exits_;
  double deadline_ = 0;  ///< the option, where the exits are used
  std::unique_ptr<StreamedWeights> streamed_;
  std::unique_ptr<LayerwiseForward> layerwise_;  ///< the pass of streamed weights without exits
  std::vector<float> rows_;                      ///< rows that layerwise() gave
  int64_t pass_units_;
};

}  // namespace hone::infer
