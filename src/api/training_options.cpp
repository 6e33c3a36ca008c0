#include "api/training_options.h"

#include <cmath>

#include "base/error.h"
#include "explain/concept_writer.h"
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
  within("train_val_split", options.train_val_split, 0, 0.999);
  within("train_fraction", options.train_fraction, 1e-9, 1);
  within("label_noise", options.label_noise, 0, 1);
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
  within("ema_decay", options.ema_decay, 0, 0.999999);
  positive("class_weights", options.class_weights);
  positive("pos_weights", options.pos_weights);
  within("checkpoint_segments", static_cast<double>(options.checkpoint_segments), 0, 1024);
  within("lora_rank", static_cast<double>(options.lora_rank), 0, 1 << 14);
  within("lora_alpha", options.lora_alpha.value_or(1), 1e-6);
  within("lora_dropout", options.lora_dropout, 0, 0.999);
  within("exit_cost_weight", options.exit_cost_weight, 0, 1e3);
  within("distill_temperature", options.distill_temperature, 0.01, 1000);
  within("distill_weight", options.distill_weight, 1e-6, 1);
  within("concept_words", static_cast<double>(options.concept_words), 2, 64);
  within("explain_neighbours", static_cast<double>(options.explain_neighbours), 1, 1024);
  within("mask_phrases", options.mask_phrases, 0, 1);
  within("random_crop_padding", static_cast<double>(options.random_crop_padding), 0, 256);
  within("cutout", static_cast<double>(options.cutout), 0, 4096);
  within("mixup_alpha", options.mixup_alpha, 0, 100);
  within("cutmix_alpha", options.cutmix_alpha, 0, 100);
  within("max_image_pixels", static_cast<double>(options.max_image_pixels), 1, 4294967296.);
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
  model.type = from.model_type;
  model.overrides = from.config_overrides;
  model.tokenizer = from.tokenizer_name;
  model.max_length = from.max_seq_length;
  model.freeze = from.freeze;
  if (!from.early_exit.empty()) {
    model.exits = models::parse_exit_method(from.early_exit, "early_exit");
  }
  model.exit_cost_weight = from.exit_cost_weight;
  model.exit_cost = from.exit_cost;
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
  options.data.train_fraction = from.train_fraction;
  options.data.label_noise = from.label_noise;
  options.batch.max_tokens = from.max_tokens_per_batch;
  options.batch.accumulation = from.gradient_accumulation_steps;
  options.batch.find_size = from.auto_find_batch_size;
  options.batch.group_by_length = from.group_by_length;
  options.batch.workers = from.dataloader_num_workers;
}

void set_images(const TrainingOptions& from, train::DataOptions& data) {
  data.train_folder = from.train_dir;
  data.validation_folder = from.validation_dir;
  data.validation_share = from.train_val_split;
  data.skip_bad = from.skip_bad_images;
  data.image_limits.max_pixels = from.max_image_pixels;
  data::AugmentOptions augment;
  augment.resized_crop = from.random_resized_crop;
  augment.flip = from.random_flip;
  augment.crop_padding = from.random_crop_padding;
  augment.cutout = from.cutout;
  augment.mixup_alpha = from.mixup_alpha;
  augment.cutmix_alpha = from.cutmix_alpha;
  if (from.no_augment && augment.any()) {
    fail(ErrorKind::usage, "no_augment: not together with {}", augment.text());
  }
  if (from.no_augment || augment.any()) data.augment = augment;
}

void set_teachers(const TrainingOptions& from, train::Options& options) {
  const train::DistillOptions defaults;
  if (from.distill.empty() && (from.distill_temperature != defaults.temperature ||
                               from.distill_weight != defaults.weight)) {
    fail(ErrorKind::usage, "distill: missing; the other options of a teacher need it");
  }
  options.distill.teacher = from.distill;
  options.distill.temperature = from.distill_temperature;
  options.distill.weight = from.distill_weight;
  options.explain.on = from.explain;
  options.explain.trees = from.trees;
  options.explain.parser = from.parser;
  options.explain.settings.concept_words = from.concept_words;
  options.explain.settings.neighbours = from.explain_neighbours;
  options.explain.store_dtype = explain::parse_store_dtype(from.concept_dtype);
  options.explain.mask_phrases = from.mask_phrases;
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
  options.average_decay = from.ema_decay;
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
  set_images(options, run.data);
  set_teachers(options, run);
  set_optimizer(options, run);
  set_step(options, run);
  set_run(options, run);
  train::apply(
      {options.learning_rate, options.num_train_epochs, options.per_device_train_batch_size}, run);
  return run;
}

}  // namespace hone::api
