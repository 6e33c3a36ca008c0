#include "cli/train_options.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "explain/concept_writer.h"
#include "train/recipe.h"

namespace hone::cli {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;
constexpr double kInfinite = 1e30;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <typename T>
T parse_part(const char* flag, const std::string& part) {
  T value{};
  const char* end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, value);
  if (error != std::errc() || stop != end) {
    fail(ErrorKind::usage, "{}: expected numbers with commas between them, got {}", flag,
         quote(part));
  }
  return value;
}

std::vector<float> parse_weights(const char* flag, const std::string& text) {
  std::vector<float> weights;
  if (text.empty()) return weights;
  for (const std::string& part : split(text)) {
    weights.push_back(parse_part<float>(flag, part));
    if (!(weights.back() > 0)) {
      fail(ErrorKind::usage, "{}: expected positive numbers, got {}", flag, quote(part));
    }
  }
  return weights;
}

train::Interval::Kind parse_interval(const char* flag, const std::string& text) {
  if (text == "no") return train::Interval::Kind::never;
  if (text == "steps") return train::Interval::Kind::steps;
  if (text == "epoch" || text.empty()) return train::Interval::Kind::epoch;
  fail(ErrorKind::usage, "{}: expected no, steps or epoch, got {}", flag, quote(text));
}

/// Refuses what hone does not write, so that nobody looks for it in vain later.
void check_reports(const std::string& names) {
  if (names.empty()) return;
  for (const std::string& name : split(names)) {
    if (name == "tensorboard" || name == "all" || name == "none") continue;
    fail(ErrorKind::usage, "--report_to: expected tensorboard, all or none, got {}", quote(name));
  }
}

}  // namespace

void TrainOptions::declare(Arguments& arguments) {
  declare_data(arguments);
  declare_recipe(arguments);
  declare_run(arguments);
  arguments.advanced();
  declare_advanced(arguments);
  declare_explain(arguments);
  images_.declare_augmentation(arguments, options_.data);
  declare_parallel(arguments);
  arguments.example(
      "hone train --model DIR --task_name sst2 --data glue --output_dir out\n"
      "Example: hone train --model RESNET --task_name image --train_dir photos\n"
      "Example: hone train --model RESNET --task_name cifar10 --data DIR");
}

void TrainOptions::declare_data(Arguments& arguments) {
  train::ModelOptions& model = options_.model;
  train::DataOptions& data = options_.data;
  arguments.text("--model,--model_name_or_path", "DIR", model.model,
                 "to start from; default: a small new model");
  arguments.text("--task_name", "TASK", data.task, "as of hone eval, or parse; default: reviews");
  arguments.text("--data", "DIR", data.folder, "the task's folder, or one in GLUE's layout");
  arguments.text("--train_file", "FILE", data.train_file,
                 "own CSV, TSV or JSON lines: label, texts");
  arguments.text("--validation_file", "FILE", data.validation_file, "the same");
  images_.declare_data(arguments, data);
  arguments.integer("--max_seq_length", 1, 1 << 20, model.max_length, "in tokens; default 128");
}

void TrainOptions::declare_recipe(Arguments& arguments) {
  arguments.real("--num_train_epochs", 0.001, 1e6, epochs_, "default 3; 4 of the built-in model");
  arguments.integer("--per_device_train_batch_size", 1, 1 << 20, batch_size_,
                    "default 8; 32 from scratch");
  arguments.real("--learning_rate", 0, 1e3, learning_rate_, "default 5e-5; 3e-4 from scratch");
  arguments.real("--warmup_ratio", 0, 1, options_.warmup_ratio, "of the steps");
  arguments.integer("--seed", 0, kMost, seed_, "default 42");
  arguments.integer("--lora_rank,--lora_r", 1, 1 << 14, lora_rank_, "train adapters of this rank");
}

void TrainOptions::declare_explain(Arguments& arguments) {
  train::ExplainOptions& explain = options_.explain;
  arguments.flag("--explain", explain.on, "the model learns to explain itself, for hone explain");
  arguments.lists("--trees", "FILE", explain.trees, "of --explain: trees over the training texts");
  arguments.text("--parser", "DIR", explain.parser, "of --explain: parses texts without a tree");
  arguments.integer("--concept_words", 2, 64, explain.settings.concept_words,
                    "most words of a concept; default 5");
  arguments.integer("--explain_neighbours", 1, 1024, explain.settings.neighbours,
                    "concepts looked up for a text; default 5");
  arguments.text("--concept_dtype", "TYPE", concept_dtype_,
                 "of the store: fp32 (default), bf16 or int8");
  arguments.real("--mask_phrases", 0, 1, explain.mask_phrases,
                 "share of the samples that lose a phrase; default 0");
}

void TrainOptions::declare_run(Arguments& arguments) {
  arguments.text("--output_dir", "DIR", options_.output, "default: hone-run");
  arguments.text("--resume_from_checkpoint", "DIR", options_.resume, "or last");
  arguments.text("--eval_strategy,--evaluation_strategy", "WHEN", evaluation_,
                 "epoch (default), steps or no");
  arguments.flag("--bf16", bf16_, "products in bf16, weights in fp32");
}

void TrainOptions::declare_advanced(Arguments& arguments) {
  train::BatchOptions& batch = options_.batch;
  optim::OptimizerOptions& optimizer = options_.optimizer;
  arguments.flag("--do_predict", do_predict_, "label the test set too");
  arguments.text("--seeds", "N,N,...", seeds_text_, "a run of each, and their mean");
  arguments.text("--early_exit", "NAME", early_exit_, "train exits too: pabee, deebert, adaptive");
  arguments.text("--test_file", "FILE", options_.data.test_file, "for --do_predict");
  arguments.integer("--max_steps", -1, kMost, options_.max_steps, "instead of epochs");
  arguments.integer("--gradient_accumulation_steps", 1, 1 << 20, options_.batch.accumulation,
                    "batches of a step; default 1");
  arguments.text("--lr_scheduler_type", "NAME", schedule_,
                 "linear (default), cosine, constant,\nstep or one_cycle");
  arguments.real("--weight_decay", 0, kInfinite, options_.optimizer.weight_decay, "default 0");
  arguments.real("--ema_decay", 0, 0.999999, options_.average_decay,
                 "the model is a moving average of the weights;\n0.999: of about 1000 steps");
  arguments.text("--freeze", "GLOB,...", options_.model.freeze, "weights that stay as they are");
  arguments.flag("--overwrite_output_dir", options_.overwrite, "drop an earlier run there");
  arguments.flag("--load_best_model_at_end", options_.stopping.load_best,
                 "the final model is the best one");
  arguments.integer("--early_stopping_patience", 1, kMost, options_.stopping.patience,
                    "evaluations without a gain");
  arguments.flag("--fp16", fp16_, "--bf16's way in fp16, with loss scaling");
  arguments.flag("--gradient_checkpointing", gradient_checkpointing_,
                 "compute activations twice, keep few");
  arguments.text("--save_strategy", "WHEN", saving_,
                 "the same, for checkpoints; steps go on while one is written");
  arguments.real("--lora_alpha", 1e-6, kInfinite, lora_alpha_, "default: the rank");
  arguments.real("--lora_dropout", 0, 0.999, lora_.dropout, "default 0");
  arguments.text("--lora_target_modules", "NAME,...", lora_targets_,
                 "default: queries and values; all-linear");
  arguments.flag("--do_train", do_train_, "do only what is named; default: both");
  arguments.flag("--do_eval", do_eval_, "score the validation set");
  arguments.text("--config_name", "FILE", options_.model.config, "a new model of this config.json");
  arguments.text("--model_type", "NAME", options_.model.type,
                 "a new model of this kind: lstm, with\nthe training texts' words");
  arguments.text("--config_overrides", "X=Y,...", options_.model.overrides,
                 "of the new model's config");
  arguments.text("--tokenizer_name,--image_processor_name", "DIR", options_.model.tokenizer,
                 "default: the model's");
  arguments.integer("--max_train_samples", 1, kMost, options_.data.max_train_samples,
                    "default: all");
  arguments.real("--train_fraction", 1e-9, 1, options_.data.train_fraction,
                 "a random sample of so large a share");
  arguments.integer("--max_eval_samples", 1, kMost, options_.data.max_eval_samples, "default: all");
  arguments.real("--label_noise", 0, 1, options_.data.label_noise, "of the built-in reviews");
  arguments.integer("--per_device_eval_batch_size", 1, 1 << 20, eval_batch_size_,
                    "accepted: about 1000 tokens run together,\nand answers do not depend on it");
  arguments.integer("--max_tokens_per_batch", 1, kMost, batch.max_tokens, "of a batch");
  arguments.flag("--group_by_length", batch.group_by_length, "like lengths in a batch");
  arguments.flag("--auto_find_batch_size", batch.find_size, "smaller batches if memory is short");
  arguments.integer("--dataloader_num_workers", 0, 256, workers_, "default 1");
  arguments.real("--exit_cost_weight", 0, 1e3, options_.model.exit_cost_weight,
                 "of the layers that adaptive exits run; default 0.1");
  arguments.text("--exit_cost", "FILE", options_.model.exit_cost,
                 "what layers cost, by hone bench --small; default:\nall the same");
  arguments.text("--distill", "DIR", options_.distill.teacher,
                 "a model of the same vocabulary and labels that\nteaches, or self: the last layer "
                 "teaches the exits");
  arguments.real("--distill_temperature", 0.01, 1000, distill_temperature_, "default 2");
  arguments.real("--distill_weight", 1e-6, 1, distill_weight_,
                 "of its part of the loss; default 0.5");
  arguments.text("--optim", "NAME", optimizer_, "adamw (default), adamw_8bit, adafactor, sgd");
  arguments.real("--adam_beta1", 0, 1, optimizer.beta1, "default 0.9");
  arguments.real("--adam_beta2", 0, 1, optimizer.beta2, "default 0.999");
  arguments.real("--adam_epsilon", 0, 1, optimizer.eps, "default 1e-8");
  arguments.real("--momentum", 0, 1, optimizer.momentum, "of sgd");
  arguments.flag("--nesterov", optimizer.nesterov, "sgd: momentum as Nesterov has it");
  arguments.integer("--lr_step_size", 1, kMost, options_.step_size_epochs,
                    "step: epochs between falls; default 30");
  arguments.real("--lr_gamma", 0, 1, options_.gamma, "step: factor of a fall; default 0.1");
  arguments.real("--max_grad_norm", 0, kInfinite, optimizer.max_grad_norm, "default 1; 0: any");
  arguments.integer("--warmup_steps", 0, kMost, options_.warmup_steps, "instead of the ratio");
  arguments.real("--label_smoothing_factor", 0, 0.999, label_smoothing_, "default 0");
  arguments.text("--class_weights", "X,...", class_weights_, "by class, or balanced");
  arguments.text("--pos_weights", "X,...", positive_weights_, "of multi-label losses");
  arguments.integer("--checkpoint_segments", 1, 1024, options_.step.checkpoint_segments,
                    "in as many parts; default: every layer");
  arguments.integer("--logging_steps", 1, kMost, options_.logging_steps, "default: 20 lines");
  arguments.integer("--eval_steps", 1, kMost, evaluation_steps_, "default: --logging_steps");
  arguments.integer("--save_steps", 1, kMost, options_.saving.steps, "default 500");
  arguments.integer("--save_total_limit", 1, kMost, options_.save_total_limit, "default: all");
  arguments.text("--metric_for_best_model", "NAME", options_.stopping.metric, "default: loss");
  arguments.text("--greater_is_better", "BOOL", greater_is_better_, "default: unless a loss");
  arguments.real("--early_stopping_threshold", 0, kInfinite, options_.stopping.threshold,
                 "a smaller gain is none");
  arguments.flag("--no_plan", no_plan_, kNoPlanHelp);
  arguments.text("--report_to", "NAME", report_to_,
                 "tensorboard, all or none: logs are always\nJSON lines and TensorBoard's");
  for (const char* name : {"--no_cuda", "--use_cpu"}) arguments.replaced(name, "use --device cpu");
  arguments.replaced("--per_gpu_train_batch_size", "use --per_device_train_batch_size");
  arguments.replaced("--push_to_hub", "hone never uploads; the folder is complete");
  arguments.replaced("--logging_dir", "TensorBoard's files lie in runs/ of --output_dir");
  arguments.replaced("--logging_strategy", "use --logging_steps");
  arguments.replaced("--pad_to_max_length", "nothing is padded here; leave it out");
  arguments.replaced("--dataset_name", "hone never downloads; use --task_name or --train_file");
}

void TrainOptions::declare_parallel(Arguments& arguments) {
  arguments.text(
      "--strategy", "NAME", strategy_,
      "single, dp (devices of one process) or ddp;\ndefault: ddp with several processes");
  arguments.integer("--dp_devices", 1, 1024, devices_, "of --strategy dp; default 2");
  arguments.integer("--virtual_ranks", 1, 1 << 16, options_.parallel.virtual_ranks,
                    "the same bits for every number of processes\nthat divides it");
  arguments.text("--balance", "BOOL", balance_, "on: shares follow the processes' speeds");
}

void TrainOptions::resolve_parallel() {
  train::ParallelOptions& parallel = options_.parallel;
  constexpr std::pair<const char*, train::StrategyKind> kNames[] = {
      {"single", train::StrategyKind::single},
      {"dp", train::StrategyKind::dp},
      {"ddp", train::StrategyKind::ddp}};
  for (const auto& [name, kind] : kNames) {
    if (strategy_ == name) parallel.strategy = kind;
  }
  if (!strategy_.empty() && !parallel.strategy) {
    fail(ErrorKind::usage, "--strategy: expected single, dp or ddp, got {}", quote(strategy_));
  }
  if (devices_ > 0 && parallel.strategy != train::StrategyKind::dp) {
    fail(ErrorKind::usage, "--dp_devices: is of --strategy dp");
  }
  if (devices_ > 0) parallel.devices = devices_;
  if (balance_ != "on" && balance_ != "off") {
    fail(ErrorKind::usage, "--balance: expected off or on, got {}", quote(balance_));
  }
  parallel.balance = balance_ == "on";
}

void TrainOptions::resolve_recipe() {
  train::Recipe recipe;
  if (learning_rate_ >= 0) recipe.learning_rate = learning_rate_;
  if (epochs_ > 0) recipe.epochs = epochs_;
  if (batch_size_ > 0) recipe.batch_size = batch_size_;
  train::apply(recipe, options_);
  options_.schedule = optim::parse_schedule(schedule_);
  options_.optimizer.kind = optim::parse_optimizer(optimizer_, "--optim");
  options_.label_smoothing = static_cast<float>(label_smoothing_);
  options_.balanced_class_weights = class_weights_ == "balanced";
  if (!options_.balanced_class_weights) {
    options_.class_weights = parse_weights("--class_weights", class_weights_);
  }
  options_.positive_weights = parse_weights("--pos_weights", positive_weights_);
  if (gradient_checkpointing_ && options_.step.checkpoint_segments == 0) {
    options_.step.checkpoint_segments = train::kEveryLayer;
  }
}

void TrainOptions::resolve_lora() {
  if (lora_rank_ == 0) {
    if (lora_alpha_ > 0 || lora_.dropout > 0 || !lora_targets_.empty()) {
      fail(ErrorKind::usage, "--lora_rank: missing; other --lora options need it");
    }
    return;
  }
  lora_.rank = lora_rank_;
  lora_.alpha = lora_alpha_ > 0 ? lora_alpha_ : static_cast<double>(lora_rank_);
  if (!lora_targets_.empty()) lora_.targets = split(lora_targets_);
  options_.model.lora = lora_;
}

void TrainOptions::resolve_distillation() {
  train::DistillOptions& distill = options_.distill;
  if (distill.teacher.empty() && (distill_temperature_ > 0 || distill_weight_ > 0)) {
    fail(ErrorKind::usage, "--distill: missing; other --distill options need it");
  }
  if (distill_temperature_ > 0) distill.temperature = distill_temperature_;
  if (distill_weight_ > 0) distill.weight = distill_weight_;
}

void TrainOptions::resolve_precision(const CommonOptions& common) {
  if (bf16_ && fp16_) fail(ErrorKind::usage, "--fp16: expected one of --bf16 and --fp16");
  options_.step.dtype = bf16_ ? DType::bf16 : fp16_ ? DType::f16 : DType::f32;
  if (common.dtype != DType::f32 && common.dtype != options_.step.dtype) {
    fail(ErrorKind::usage, "--dtype: {} is of inference; training's is --bf16 or --fp16",
         quote(dtype_name(common.dtype)));
  }
}

void TrainOptions::resolve_intervals() {
  options_.evaluation.kind = parse_interval("--eval_strategy", evaluation_);
  options_.evaluation.steps = evaluation_steps_ > 0        ? evaluation_steps_
                              : options_.logging_steps > 0 ? options_.logging_steps
                                                           : 500;
  options_.saving.kind = parse_interval("--save_strategy", saving_);
  if (!greater_is_better_.empty()) {
    const bool yes = greater_is_better_ == "true" || greater_is_better_ == "True";
    if (!yes && greater_is_better_ != "false" && greater_is_better_ != "False") {
      fail(ErrorKind::usage, "--greater_is_better: expected true or false, got {}",
           quote(greater_is_better_));
    }
    options_.stopping.greater_is_better = yes;
  }
}

train::Options TrainOptions::resolve(const CommonOptions& common) {
  check_reports(report_to_);
  resolve_recipe();
  resolve_intervals();
  resolve_lora();
  resolve_distillation();
  resolve_parallel();
  if (!early_exit_.empty()) {
    options_.model.exits = models::parse_exit_method(early_exit_, "--early_exit");
  }
  options_.explain.store_dtype = explain::parse_store_dtype(concept_dtype_);
  resolve_precision(common);
  images_.resolve(options_.data);
  if (options_.output.empty()) options_.output = "hone-run";
  options_.predict = do_predict_;
  if (do_train_ || do_eval_) {
    options_.train = do_train_;
    options_.evaluate = do_eval_;
  }
  options_.batch.workers = static_cast<int>(workers_);
  options_.device = common.device;
  options_.tuning = common.tuning;
  options_.threads = common.threads;
  options_.planned = !no_plan_;
  if (seeds_text_.empty()) {
    seeds_ = {static_cast<uint64_t>(seed_)};
  } else {
    for (const std::string& part : split(seeds_text_)) {
      const auto seed = parse_part<uint64_t>("--seeds", part);
      if (std::find(seeds_.begin(), seeds_.end(), seed) != seeds_.end()) {
        fail(ErrorKind::usage, "--seeds: expected each once, got {} twice", quote(part));
      }
      seeds_.push_back(seed);
    }
  }
  options_.seed = seeds_.front();
  return options_;
}

}  // namespace hone::cli
