#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/augment.h"
#include "models/explain_settings.h"
#include "models/model.h"
#include "ops/loss.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace hone::train {

/// Says when something is done, as Trainer's strategies do.
struct Interval {
  enum class Kind { never, steps, epoch };
  Kind kind = Kind::epoch;
  int64_t steps = 500;
};

struct DataOptions {
  std::string task;        ///< a name, or empty for own files
  std::string folder;      ///< folder of the task's files
  std::string train_file;  ///< an own file, as the next two
  std::string validation_file;
  std::string test_file;
  int64_t max_train_samples = -1;  ///< -1: all
  int64_t max_eval_samples = -1;
  double train_fraction = 1;  ///< trains on a random sample of so large a share
  double label_noise = 0;     ///< share of wrong labels in the built-in reviews
  /// Folders of a folder of images for each class.
  std::string train_folder;
  std::string validation_folder;
  /// Share of each class's training images that is set apart where nothing else validates.
  double validation_share = 0.15;
  bool skip_bad = false;  ///< images that cannot be read are left out
  image::DecodeLimits image_limits = {};
  /// What training changes of images; absent: what suits the data set.
  std::optional<data::AugmentOptions> augment = {};
};

struct ModelOptions {
  /// Names a folder, or a model in the local cache; empty: training starts from scratch.
  std::string model;
  /// Training from scratch takes a config.json or its folder, and the tokenizer's; both empty: the
  /// small built-in model, which reads the built-in reviews' words.
  std::string config;
  std::string type;       ///< a family whose defaults serve instead of a config
  std::string overrides;  ///< fields of the new model's config: "hidden_size=64,dropout=0.3"
  std::string tokenizer;
  int64_t max_length = 128;
  std::string freeze;                            ///< patterns of names, see models::trainable_slots
  std::optional<models::ExitMethod> exits = {};  ///< early exits to be trained
  double exit_cost_weight = 0.1;                 ///< lambda of adaptive exits
  std::string exit_cost;                         ///< file of what layers cost; empty: all alike
  std::optional<nn::LoraOptions> lora = {};      ///< adapters are trained instead of the weights
};

struct BatchOptions {
  int64_t train = 8;       ///< samples of a batch; 0: no limit but that of tokens
  int64_t max_tokens = 0;  ///< tokens of a batch; 0: no limit
  int64_t accumulation = 1;
  bool find_size = false;  ///< take smaller batches and more accumulation where memory is short
  bool group_by_length = false;
  int workers = 1;  ///< threads that make batches ahead
};

enum class StrategyKind {
  single,  ///< one process and one device
  dp,      ///< one process, several devices
  ddp,     ///< one process a device
};

/// Says how the samples of a step are shared.
struct ParallelOptions {
  std::optional<StrategyKind> strategy = {};  ///< none: ddp where there are several ranks
  int64_t devices = 2;                        ///< devices of dp
  int64_t virtual_ranks = 0;  ///< slices of a step that are summed in one tree; 0: none
  bool balance = false;       ///< shares follow the ranks' speeds
  int64_t batch_ranks = 0;    ///< ranks that a batch is counted for; 0: those there are
};

struct StoppingOptions {
  bool load_best = false;  ///< the final model is the best one
  std::string metric;      ///< metric that chooses the best model; empty: the loss
  std::optional<bool> greater_is_better = {};
  int64_t patience = 0;  ///< evaluations without improvement; 0: never stops early
  double threshold = 0;  ///< least change that counts as an improvement

  bool needs_evaluation() const { return load_best || patience > 0; }
};

inline constexpr const char* kSelf = "self";
/// Says what teaches the model beside the labels.
struct DistillOptions {
  std::string teacher;  ///< a model's folder or name, or kSelf: the last layer teaches the exits
  double temperature = 2;
  double weight = 0.5;  ///< weighs the teacher's part of the loss; the labels have the rest
};

/// Says that the model learns to explain itself, and by what.
struct ExplainOptions {
  bool on = false;
  std::vector<std::string> trees;  ///< files of trees over the training rows' texts
  std::string parser;              ///< a parser's folder, which parses the texts that have no tree
  models::ExplainSettings settings;
  double mask_phrases = 0;         ///< share of the samples that lose a phrase, anew in each epoch
  DType store_dtype = DType::f32;  ///< the vectors' of the folder's store: f32, bf16 or u8
};

/// Everything a run depends on. Defaults are Trainer's where it has them.
struct Options {
  ModelOptions model;
  DataOptions data;
  BatchOptions batch;
  ParallelOptions parallel;
  StoppingOptions stopping;
  DistillOptions distill;
  ExplainOptions explain;
  optim::OptimizerOptions optimizer;
  double learning_rate = 5e-5;
  optim::ScheduleKind schedule = optim::ScheduleKind::linear;
  int64_t step_size_epochs = 30;  ///< epochs between the falls of a schedule by steps
  double gamma = 0.1;             ///< factor of such a fall
  int64_t warmup_steps = 0;
  double warmup_ratio = 0;
  double epochs = 3;
  int64_t max_steps = -1;  ///< overrides the epochs where positive
  uint64_t seed = 42;
  float label_smoothing = 0;
  std::vector<float> class_weights;     ///< by class
  bool balanced_class_weights = false;  ///< weights follow from the classes' frequencies instead
  std::vector<float> positive_weights;
  models::TrainingOptions step;  ///< how activations are kept
  double average_decay = 0;      ///< decay of the moving average that becomes the model; 0: none

  std::string output;  ///< folder of the run
  std::string tokens;  ///< folder of the tokenised data; empty: in the output
  bool overwrite = false;
  std::string resume;  ///< a checkpoint's folder, or "last"
  bool train = true;
  bool evaluate = true;
  bool predict = false;
  int64_t logging_steps = 0;  ///< 0: about twenty times in all
  Interval evaluation;
  Interval saving;
  int64_t save_total_limit = 0;  ///< 0: all are kept
  std::string device = "cpu";    ///< a name that select_device() takes
  bool gpu = false;              ///< whether `device` is a GPU
  bool planned = true;           ///< false: steps run one by one, values share no memory
  std::string tuning = {};       ///< a file of a GPU's fastest products, see CudaTuning
  int threads = 0;               ///< 0: the cores that the process may use
};

}  // namespace hone::train
