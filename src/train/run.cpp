#include "train/run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "plan/gpu_tuning.h"
#include "train/budget.h"
#include "train/folder_lock.h"
#include "train/loop.h"
#include "train/results.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

void check(const Options& options) {
  if (options.output.empty()) fail(ErrorKind::usage, "--output_dir: missing");
  if (options.max_steps == 0) {
    fail(ErrorKind::usage, "--max_steps: expected -1 (by epochs) or at least 1, got '0'");
  }
  const StoppingOptions& stopping = options.stopping;
  if (stopping.needs_evaluation() && options.evaluation.kind == Interval::Kind::never) {
    fail(ErrorKind::usage,
         "--eval_strategy: expected steps or epoch, got 'no'; the best model is found by it");
  }
  const bool together = options.evaluation.kind == options.saving.kind &&
                        (options.saving.kind != Interval::Kind::steps ||
                         options.saving.steps % options.evaluation.steps == 0);
  if (stopping.load_best && !together) {
    fail(ErrorKind::usage,
         "--save_strategy: expected that of --eval_strategy; --load_best_model_at_end takes the "
         "best of the models that were saved");
  }
}

/// Old results are never mixed with new ones, and never lost unasked.
void prepare_output(const Options& options) {
  const std::vector<std::string> old = list_checkpoints(options.output);
  const bool used = !old.empty() || file_exists(options.output + "/model.safetensors") ||
                    file_exists(options.output + "/adapter_model.safetensors");
  if (!options.train || !used || !options.resume.empty()) return;
  if (!options.overwrite) {
    fail(ErrorKind::usage,
         "--output_dir: {} holds an earlier run; go on with --resume_from_checkpoint last, or "
         "give --overwrite_output_dir",
         quote(options.output));
  }
  std::error_code error;
  if (fs::equivalent(options.output, options.model.model, error)) {
    fail(ErrorKind::usage, "--output_dir: {} is the model itself", quote(options.output));
  }
  for (const std::string& folder : old) fs::remove_all(folder, error);
  fs::remove_all(options.output + "/runs", error);
}

ops::LossOptions loss_for(const Options& options, const Corpus& corpus) {
  ops::LossOptions loss;
  switch (corpus.problem()) {
    case metrics::Problem::regression:
      loss.kind = ops::LossKind::squared_error;
      break;
    case metrics::Problem::multi_label:
      loss.kind = ops::LossKind::binary_cross_entropy;
      loss.positive_weights = options.positive_weights;
      break;
    case metrics::Problem::single_label:
      loss.label_smoothing = options.label_smoothing;
      loss.class_weights = options.class_weights;
      break;
  }
  const auto need = [&](const char* flag, const std::vector<float>& weights) {
    if (weights.empty() || static_cast<int64_t>(weights.size()) == corpus.labels.size()) return;
    fail(ErrorKind::usage, "{}: expected one for each of the {} labels, got {}", flag,
         corpus.labels.size(), weights.size());
  };
  need("--class_weights", loss.class_weights);
  need("--pos_weights", loss.positive_weights);
  return loss;
}

/// As scikit-learn's "balanced": samples / (classes * samples of the class).
std::vector<float> balanced_weights(const data::TokenStore& store) {
  std::vector<float> weights;
  const std::vector<int64_t> counts = store.label_counts();
  for (const int64_t count : counts) {
    weights.push_back(static_cast<float>(static_cast<double>(store.samples()) /
                                         static_cast<double>(counts.size()) /
                                         static_cast<double>(count)));
  }
  return weights;
}

data::SamplerOptions sampling(const Options& options) {
  data::SamplerOptions sampler;
  sampler.seed = options.seed;
  sampler.group_by_length = options.batch.group_by_length;
  sampler.max_samples = options.batch.train;
  sampler.max_tokens = options.batch.max_tokens;
  return sampler;
}

Fingerprint fingerprint_of(const Options& options, const Trainee& model, const Datasets& data,
                           const Course& course, int threads) {
  const models::EncoderConfig& config = model.config();
  const auto& lora = model.encoder().lora();
  const optim::OptimizerOptions& optimizer = options.optimizer;
  return {{"model", fmt::format("{} {} layers {} hidden {} words", config.model_type, config.layers,
                                config.hidden_size, config.vocab_size)},
          {"adapter", lora ? fmt::format("rank {} alpha {} on {}", lora->rank, lora->alpha,
                                         fmt::join(lora->targets, ","))
                           : "none"},
          {"early exits", models::exit_method_name(config.exits.method)},
          {"frozen weights", options.model.freeze},
          {"precision", std::string(dtype_name(options.step.dtype))},
          {"device", options.gpu ? "cuda" : "cpu"},
          {"seed", std::to_string(options.seed)},
          {"training data", data.training_key},
          {"batch size", std::to_string(options.batch.train)},
          {"token budget", std::to_string(options.batch.max_tokens)},
          {kAccumulation, std::to_string(options.batch.accumulation)},
          {"number of steps", std::to_string(course.steps)},
          {"learning rate", fmt::format("{}", options.learning_rate)},
          {"warm-up", std::to_string(course.schedule.warmup)},
          {"weight decay", fmt::format("{}", options.optimizer.weight_decay)},
          {"order of samples", options.batch.group_by_length ? "by length" : "shuffled"},
          {"schedule", std::to_string(static_cast<int>(course.schedule.kind))},
          {"optimiser", fmt::format("{} {} {} {} {} {}", static_cast<int>(optimizer.kind),
                                    optimizer.beta1, optimizer.beta2, optimizer.eps,
                                    optimizer.momentum, optimizer.max_grad_norm)},
          {"label smoothing", fmt::format("{}", options.label_smoothing)},
          // On a GPU the order of sums does not depend on it.
          {"thread count", options.gpu ? "any" : std::to_string(threads)}};
}

}  // namespace

/// A run from its options to its summary, in the order of its stages.
class Run {
 public:
  Run(Options options, Observer& observer)
      : options_((check(options), std::move(options))),
        observer_(observer),
        pool_(options_.threads > 0 ? options_.threads : usable_cores()),
        lock_(options_.output) {
    summary_.output = options_.output;
    options_.gpu = select_device(options_.device);
    if (options_.gpu) tuning_.emplace(options_.tuning);
  }

  Summary go() {
    prepare_output(options_);
    if (!options_.resume.empty()) {
      checkpoint_ = choose_checkpoint(options_.output, options_.resume);
    }
    open();
    if (options_.train) {
      train();
    } else {
      load();
      Evaluator evaluator(model_->encoder(), pool_);
      finish(evaluate_sets(evaluator, *corpus_, *data_, summary_.stages));
    }
    summary_.peak_bytes = peak_resident_bytes();
    if (!summary_.interrupted) write_results(options_.output, summary_);
    return std::move(summary_);
  }

 private:
  void open() {
    const StageTimer timer(summary_.stages, Stage::loading);
    corpus_.emplace(open_corpus(options_));
    if (options_.train && options_.stopping.needs_evaluation() && corpus_->evaluations.empty()) {
      fail(ErrorKind::usage, "--validation_file: missing; the best model is found by it");
    }
    model_.emplace(options_, *corpus_);
    if (options_.train) {
      loss_ = loss_for(options_, *corpus_);
      estimate_.emplace(model_->encoder(), model_->trainable(), loss_, options_,
                        model_->max_length(), pool_);
      check_least_memory();
    }
    data_.emplace(open_datasets(options_, *corpus_, *model_, pool_));
    for (const std::string& note : data_->notes) observer_.say(note);
  }

  /// What cannot fit in any batch is told before data is loaded.
  void check_least_memory() {
    const MemoryUse least = estimate_->of({1, model_->max_length()}, options_.batch.accumulation);
    const BatchSize largest = largest_batch(options_.batch, model_->max_length());
    const MemoryUse most = estimate_->of(largest, options_.batch.accumulation);
    const uint64_t available = available_memory(options_.gpu);
    observer_.say(
        fmt::format("memory: weights, gradients and optimiser {}, activations at most {} "
                    "(a batch of {} tokens); {} available",
                    megabytes(least.total() - least.activations), megabytes(most.activations),
                    largest.tokens, megabytes(available)));
    if (least.total() > available) {
      fail(ErrorKind::memory,
           "not enough memory: training {} takes at least {} for one sequence of {} tokens, {} are "
           "available",
           model_->origin(), megabytes(least.total()), model_->max_length(), megabytes(available));
    }
  }

  /// The lengths are known now: the largest batch must fit, or is made smaller where that is
  /// allowed. Halves of a batch add up to the same gradient.
  void fit_batches() {
    plan_batches();
    halve_as_before();
    for (;; plan_batches()) {
      const uint64_t available = available_memory(options_.gpu);
      if (summary_.memory.total() <= available) return;
      halve_batches(available, fmt::format("not enough memory: batches of up to {} tokens take {}, "
                                           "{} are available",
                                           largest_.tokens, megabytes(summary_.memory.total()),
                                           megabytes(available)));
    }
  }

  /// A run that is taken up may have begun with less memory than there is now: its batches stay as
  /// they were.
  void halve_as_before() {
    if (checkpoint_.empty() || !options_.batch.find_size) return;
    const int64_t before = recorded_accumulation(checkpoint_);
    while (2 * options_.batch.accumulation <= before && largest_.sequences > 1) {
      halve(options_.batch, largest_);
      plan_batches();
    }
  }

  void plan_batches() {
    sampler_.emplace(data_->training->store.lengths(), sampling(options_));
    course_ = plan_course(options_, *sampler_);
    largest_ = largest_batch(*sampler_, course_.epochs);
    summary_.memory = estimate_->of(largest_, options_.batch.accumulation);
  }

  /// Where that is allowed; else fails, with `why` and what would fit.
  void halve_batches(uint64_t available, const std::string& why) {
    if (options_.batch.find_size && largest_.sequences > 1) {
      const int64_t before = largest_.tokens;
      halve(options_.batch, largest_);
      return observer_.say(fmt::format("batches of {} tokens do not fit: a step is now {}", before,
                                       step_limits(options_.batch)));
    }
    std::string fits = "not one sequence would fit";
    while (largest_.sequences > 1) {
      halve(options_.batch, largest_);
      plan_batches();
      if (summary_.memory.total() > available) continue;
      fits = fmt::format(
          "steps of {} would fit: give {} and --gradient_accumulation_steps, or "
          "--auto_find_batch_size",
          step_limits(options_.batch),
          options_.batch.train > 0 ? "--per_device_train_batch_size" : "--max_tokens_per_batch");
      break;
    }
    fail(ErrorKind::memory, "{}; {}", why, fits);
  }

  /// A device has other users, and its allocator takes more than it is asked for: what fits by the
  /// estimate may not, and is then made smaller before anything has changed.
  void open_loop(std::optional<Loop>& loop) {
    for (;;) {
      try {
        loop.emplace(
            Loop::Parts{options_, *corpus_, *data_, *sampler_, *model_, pool_, observer_, summary_},
            course_, loss_, fingerprint_of(options_, *model_, *data_, course_, pool_.size()));
        return loop->reserve(extents_of(largest_, model_->max_length()));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::memory || !options_.gpu) throw;
        loop.reset();
        model_->encoder().parameters().leave_gpu();
        // What did not fit does not fit, whatever the estimate says.
        halve_batches(std::min(available_memory(true), summary_.memory.total() - 1), error.what());
        plan_batches();
      }
    }
  }

  /// Adapters: what the same batches would take if every weight was trained.
  void compare_with_full(const BatchSize& batch) {
    if (!model_->encoder().lora()) return;
    const models::Encoder full(model_->config(), DType::f32, options_.gpu ? Isa::gpu : chosen_isa(),
                               true);
    const MemoryEstimate estimate(full, std::vector<bool>(full.parameters().list().size(), true),
                                  loss_, options_, model_->max_length(), pool_);
    summary_.full = {estimate.of(batch, options_.batch.accumulation),
                     estimate_->flops(batch) / estimate.flops(batch)};
  }

  void load() {
    const StageTimer timer(summary_.stages, Stage::loading);
    const Trainee::Report report = model_->load(options_.seed, pool_);
    const auto list = [](const std::vector<std::string>& names) {
      std::string text = names.front();
      for (size_t i = 1; i < std::min<size_t>(names.size(), 6); ++i) text += ", " + names[i];
      return text + (names.size() > 6 ? ", ..." : "");
    };
    if (!report.fresh.empty()) {
      observer_.say("not in the checkpoint, so made new: " + list(report.fresh));
    }
    if (!report.unused.empty()) {
      observer_.warn(fmt::format("{} weights of the checkpoint are not used: {}",
                                 report.unused.size(), list(report.unused)));
    }
    for (const nn::Parameter& parameter : model_->encoder().parameters().list()) {
      const int64_t count = parameter.weight.rows * parameter.weight.width;
      summary_.parameters += count;
      const auto slot = static_cast<size_t>(parameter.weight.slot);
      if (model_->trainable()[slot]) summary_.trainable += count;
    }
  }

  void train() {
    fit_batches();
    if (options_.batch.train > sampler_->size()) {
      observer_.warn(fmt::format("a batch of {} is more than the {} samples: every step sees all",
                                 options_.batch.train, sampler_->size()));
    }
    if (options_.balanced_class_weights) {
      loss_.class_weights = balanced_weights(data_->training->store);
    }
    load();
    std::optional<Loop> loop;
    open_loop(loop);
    compare_with_full(largest_);
    if (!checkpoint_.empty()) {
      const StageTimer timer(summary_.stages, Stage::loading);
      loop->resume(checkpoint_);
      observer_.say("going on from " + checkpoint_);
    }
    observer_.say(
        fmt::format("{}: {} samples, {} steps of {} over {} epochs, {} of {} parameters are "
                    "trained, {}",
                    corpus_->name, sampler_->size(), course_.steps, step_limits(options_.batch),
                    course_.epochs, summary_.trainable, summary_.parameters,
                    options_.gpu ? "on a GPU" : fmt::format("{} threads", pool_.size())));
    say_what_is_scored();
    loop->train();
    if (summary_.interrupted) return;
    loop->load_best();
    finish(loop->evaluate());
  }

  void say_what_is_scored() {
    const models::ExitMethod exits = model_->config().exits.method;
    if (exits == models::ExitMethod::none || data_->evaluations.empty()) return;
    const bool fixed = exits == models::ExitMethod::deebert;
    observer_.say(
        fmt::format("evaluations score the last layer{}; measure the exits of the "
                    "finished model with hone convert --exits",
                    fixed ? ", which stays as it is while exits are trained" : ""));
  }

  void finish(const LogEntry& evaluation) {
    summary_.evaluation = evaluation.values;
    if (!options_.train) return;
    const StageTimer timer(summary_.stages, Stage::checkpoint);
    model_->save(options_.output);
  }

  Options options_;
  Observer& observer_;
  ThreadPool pool_;
  FolderLock lock_;
  Summary summary_;
  std::optional<GpuTuning> tuning_;
  std::string checkpoint_;  ///< to go on from; empty: from the start
  std::optional<Corpus> corpus_;
  std::optional<Trainee> model_;
  std::optional<Datasets> data_;
  ops::LossOptions loss_;
  std::optional<MemoryEstimate> estimate_;
  std::optional<data::Sampler> sampler_;
  Course course_;
  BatchSize largest_;
};

Summary run(const Options& options, Observer& observer) { return Run(options, observer).go(); }

}  // namespace hone::train
