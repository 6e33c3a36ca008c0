#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/encoder.h"
#include "ops/loss.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"

namespace hone::train {

/// When something is done, as Trainer's strategies say it.
struct Interval {
  enum class Kind { never, steps, epoch };
  Kind kind = Kind::epoch;
  int64_t steps = 500;
};

struct DataOptions {
  std::string task;        ///< a name, or empty for own files
  std::string folder;      ///< of the task's files
  std::string train_file;  ///< own files
  std::string validation_file;
  std::string test_file;
  int64_t max_train_samples = -1;  ///< -1: all
  int64_t max_eval_samples = -1;
  double label_noise = 0;  ///< of the built-in reviews
};

struct ModelOptions {
  /// A folder or a name in the local cache; empty: from scratch.
  std::string model;
  /// From scratch: a config.json or its folder, and the tokenizer's; both empty: the small built-in
  /// model, which reads the built-in reviews' words.
  std::string config;
  std::string tokenizer;
  int64_t max_length = 128;
  std::string freeze;                            ///< patterns of names, see models::trainable_slots
  std::optional<models::ExitMethod> exits = {};  ///< early exits to be trained
  std::optional<nn::LoraOptions> lora = {};      ///< adapters are trained instead of the weights
};

struct BatchOptions {
  int64_t train = 8;       ///< samples of a batch; 0: no limit but that of tokens
  int64_t max_tokens = 0;  ///< of a batch; 0: no limit
  int64_t accumulation = 1;
  bool find_size = false;  ///< smaller batches and more accumulation where memory is short
  bool group_by_length = false;
  int workers = 1;  ///< that make batches ahead
};

struct StoppingOptions {
  bool load_best = false;  ///< the final model is the best one
  std::string metric;      ///< of the best model; empty: the loss
  std::optional<bool> greater_is_better = {};
  int64_t patience = 0;  ///< evaluations without improvement; 0: never stops early
  double threshold = 0;  ///< that counts as an improvement

  bool needs_evaluation() const { return load_best || patience > 0; }
};

/// Everything a run depends on. Defaults are Trainer's where it has them.
struct Options {
  ModelOptions model;
  DataOptions data;
  BatchOptions batch;
  StoppingOptions stopping;
  optim::OptimizerOptions optimizer;
  double learning_rate = 5e-5;
  optim::ScheduleKind schedule = optim::ScheduleKind::linear;
  int64_t warmup_steps = 0;
  double warmup_ratio = 0;
  double epochs = 3;
  int64_t max_steps = -1;  ///< over the epochs where positive
  uint64_t seed = 42;
  float label_smoothing = 0;
  std::vector<float> class_weights;     ///< by class
  bool balanced_class_weights = false;  ///< by their frequencies instead
  std::vector<float> positive_weights;
  models::TrainingOptions step;  ///< how activations are kept

  std::string output;  ///< folder
  std::string tokens;  ///< folder of the tokenised data; empty: in the output
  bool overwrite = false;
  std::string resume;  ///< a checkpoint's folder, or "last"
  bool train = true;
  bool evaluate = true;
  bool predict = false;
  int64_t logging_steps = 500;
  Interval evaluation;
  Interval saving;
  int64_t save_total_limit = 0;  ///< 0: all are kept
  std::string device = "cpu";    ///< as select_device() takes it
  bool gpu = false;              ///< what it came to
  std::string tuning = {};       ///< on a GPU: see GpuTuning
  int threads = 0;               ///< 0: the cores that the process may use
};

}  // namespace hone::train
