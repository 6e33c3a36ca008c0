#include "api/training_options.h"

#include <cmath>

#include "base/error.h"
#include "train/recipe.h"

namespace hone::api {
namespace {

constexpr double kNoLimit = 1e30;

void within(const char* option, double value, double least, double most = kNoLimit) {
  if (value >= least && value <= most) return;
  if (most == kNoLimit) {
    fail(ErrorKind::usage, "{}: expected a number of at least {}, got {}", option, least, value);
  }
  fail(ErrorKind::usage, "{}: expected a number from {} to {}, got {}", option, least, most, value);
}

void positive(const char* option, const std::vector<float>& values) {
  for (const float value : values) {
    if (!(value > 0)) {
      fail(ErrorKind::usage, "{}: expected positive numbers, got {}", option, value);
    }
  }
}

void check_ranges(const TrainingOptions& options) {
  const auto count = [](const char* option, int64_t value, double least) {
    within(option, static_cast<double>(value), least);
  };
  count("max_seq_length", options.max_seq_length, 1);
  count("max_train_samples", options.max_train_samples, -1);
  count("max_eval_samples", options.max_eval_samples, -1);
  within("num_train_epochs", options.num_train_epochs.value_or(1), 0.001, 1e6);
  count("max_steps", options.max_steps, -1);
  count("per_device_train_batch_size", options.per_device_train_batch_size.value_or(1), 1);
  count("max_tokens_per_batch", options.max_tokens_per_batch, 0);
  count("gradient_accumulation_steps", options.gradient_accumulation_steps, 1);
  within("dataloader_num_workers", options.dataloader_num_workers, 0, 256);
  within("learning_rate", options.learning_rate.value_or(0), 0, 1e3);
  count("warmup_steps", options.warmup_steps, 0);
  within("warmup_ratio", options.warmup_ratio, 0, 1);
  within("adam_beta1", options.adam_beta1, 0, 1);
  within("adam_beta2", options.adam_beta2, 0, 1);
  within("adam_epsilon", options.adam_epsilon, 0, 1);
  within("momentum", options.momentum, 0, 1);
  count("lr_step_size", options.lr_step_size, 1);
  within("lr_gamma", options.lr_gamma, 0, 1);
  within("weight_decay", options.weight_decay, 0);
  within("max_grad_norm", options.max_grad_norm, 0);
  within("label_smoothing_factor", options.label_smoothing_factor, 0, 0.999);
  positive("class_weights", options.class_weights);
  positive("pos_weights", options.pos_weights);
  within("checkpoint_segments", static_cast<double>(options.checkpoint_segments), 0, 1024);
  within("lora_rank", static_cast<double>(options.lora_rank), 0, 1 << 14);
  within("lora_alpha", options.lora_alpha.value_or(1), 1e-6);
  within("lora_dropout", options.lora_dropout, 0, 0.999);
  count("eval_steps", options.eval_steps, 0);
  count("save_steps", options.save_steps, 1);
  count("save_total_limit", options.save_total_limit, 0);
  count("logging_steps", options.logging_steps, 0);
  count("early_stopping_patience", options.early_stopping_patience, 0);
  within("early_stopping_threshold", options.early_stopping_threshold, 0);
  count("threads", options.threads, 0);
}

train::Interval interval(Strategy strategy, int64_t steps) {
  using Kind = train::Interval::Kind;
  return {strategy == Strategy::no      ? Kind::never
          : strategy == Strategy::steps ? Kind::steps
                                        : Kind::epoch,
          steps};
}

void set_model(const TrainingOptions& from, train::Options& options) {
  train::ModelOptions& model = options.model;
  model.model = from.model;
  model.config = from.config_name;
  model.tokenizer = from.tokenizer_name;
  model.max_length = from.max_seq_length;
  model.freeze = from.freeze;
  if (!from.early_exit.empty()) {
    model.exits = models::parse_exit_method(from.early_exit, "early_exit");
  }
  if (from.lora_rank > 0) {
    const double alpha = from.lora_alpha.value_or(static_cast<double>(from.lora_rank));
    model.lora = {from.lora_rank, alpha, from.lora_dropout, from.lora_target_modules};
  } else if (from.lora_alpha || from.lora_dropout > 0 || !from.lora_target_modules.empty()) {
    fail(ErrorKind::usage, "lora_rank: missing; the other options of adapters need it");
  }
}

void set_data(const TrainingOptions& from, train::Options& options) {
  options.data.task = from.task_name;
  options.data.folder = from.data;
  options.data.train_file = from.train_file;
  options.data.validation_file = from.validation_file;
  options.data.max_train_samples = from.max_train_samples;
  options.data.max_eval_samples = from.max_eval_samples;
  options.batch.max_tokens = from.max_tokens_per_batch;
  options.batch.accumulation = from.gradient_accumulation_steps;
  options.batch.find_size = from.auto_find_batch_size;
  options.batch.group_by_length = from.group_by_length;
  options.batch.workers = from.dataloader_num_workers;
}

void set_optimizer(const TrainingOptions& from, train::Options& options) {
  optim::OptimizerOptions& optimizer = options.optimizer;
  optimizer.kind = optim::parse_optimizer(from.optim, "optim");
  optimizer.beta1 = from.adam_beta1;
  optimizer.beta2 = from.adam_beta2;
  optimizer.eps = from.adam_epsilon;
  optimizer.momentum = from.momentum;
  optimizer.nesterov = from.nesterov;
  optimizer.weight_decay = from.weight_decay;
  optimizer.max_grad_norm = from.max_grad_norm;
  options.schedule = optim::parse_schedule(from.lr_scheduler_type);
  options.step_size_epochs = from.lr_step_size;
  options.gamma = from.lr_gamma;
  options.warmup_steps = from.warmup_steps;
  options.warmup_ratio = from.warmup_ratio;
  options.max_steps = from.max_steps;
  options.seed = from.seed;
  options.label_smoothing = static_cast<float>(from.label_smoothing_factor);
  options.class_weights = from.class_weights;
  options.balanced_class_weights = from.balanced_class_weights;
  options.positive_weights = from.pos_weights;
}

void set_step(const TrainingOptions& from, train::Options& options) {
  if (from.bf16 && from.fp16) fail(ErrorKind::usage, "fp16: expected one of bf16 and fp16");
  options.step.dtype = from.bf16 ? DType::bf16 : from.fp16 ? DType::f16 : DType::f32;
  options.step.checkpoint_segments = from.checkpoint_segments;
  if (from.gradient_checkpointing && from.checkpoint_segments == 0) {
    options.step.checkpoint_segments = train::kEveryLayer;
  }
  options.device = from.device;
  options.tuning = from.tuning;
  options.threads = from.threads;
}

void set_run(const TrainingOptions& from, train::Options& options) {
  constexpr int64_t kTrainersInterval = 500;
  options.output = from.output_dir;
  options.overwrite = from.overwrite_output_dir;
  options.resume = from.resume_from_checkpoint;
  options.logging_steps = from.logging_steps;
  const int64_t logged = from.logging_steps > 0 ? from.logging_steps : kTrainersInterval;
  options.evaluation = interval(from.eval_strategy, from.eval_steps > 0 ? from.eval_steps : logged);
  options.saving = interval(from.save_strategy, from.save_steps);
  options.save_total_limit = from.save_total_limit;
  options.stopping.load_best = from.load_best_model_at_end;
  options.stopping.metric = from.metric_for_best_model;
  options.stopping.greater_is_better = from.greater_is_better;
  options.stopping.patience = from.early_stopping_patience;
  options.stopping.threshold = from.early_stopping_threshold;
}

}  // namespace

train::Options run_options(const TrainingOptions& options) {
  check_ranges(options);
  train::Options run;
  set_model(options, run);
  set_data(options, run);
  set_optimizer(options, run);
  set_step(options, run);
  set_run(options, run);
  train::apply(
      {options.learning_rate, options.num_train_epochs, options.per_device_train_batch_size}, run);
  return run;
}

}  // namespace hone::api
