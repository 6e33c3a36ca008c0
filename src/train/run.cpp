#include "train/run.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "device/cpu_info.h"
#include "device/cuda.h"
#include "plan/cuda_tuning.h"
#include "train/budget.h"
#include "train/concept_keeper.h"
#include "train/exit_price.h"
#include "train/fingerprint.h"
#include "train/folder_lock.h"
#include "train/loop.h"
#include "train/results.h"
#include "train/run_checks.h"
#include "train/run_loss.h"
#include "train/teacher.h"

namespace hone::train {
namespace {

/// An observer of a rank that nobody looks at; it may be asked to stop.
class Muted : public Observer {
 public:
  explicit Muted(Observer& observer) : observer_(observer) {}
  void say(const std::string&) override {}
  void warn(const std::string&) override {}
  void progress(const Progress&) override {}
  void logged(const LogEntry&) override {}
  bool stop_requested() override { return observer_.stop_requested(); }

 private:
  Observer& observer_;
};

data::SamplerOptions sampling(const Options& options, int64_t devices) {
  data::SamplerOptions sampler;
  sampler.seed = options.seed;
  sampler.fraction = options.data.train_fraction;
  sampler.group_by_length = options.batch.group_by_length;
  sampler.max_samples = options.batch.train * devices;
  sampler.max_tokens = options.batch.max_tokens * devices;
  return sampler;
}

}  // namespace

/// A run from its options to its summary, in the order of its stages.
class Run {
 public:
  Run(Options options, Observer& observer, comm::Communicator& ranks)
      : options_((check(options, ranks), std::move(options))),
        ranks_(ranks),
        muted_(observer),
        observer_(writes() ? observer : muted_),
        pool_(options_.threads > 0 ? options_.threads
                                   : std::max(1, usable_cores() / ranks.ranks_of_host())) {
    if (writes()) lock_.emplace(options_.output);
    summary_.output = options_.output;
    summary_.ranks = ranks.size();
    const int64_t gpus = options_.device == "cpu" ? 0 : std::ssize(cuda_info().devices);
    options_.gpu = select_device(device_of_rank(options_.device, ranks, gpus));
    check_device(options_, ranks);
    if (options_.gpu) tuning_.emplace(options_.tuning);
  }

  Summary go() {
    if (writes()) {
      prepare_output(options_);
      if (!options_.resume.empty()) {
        checkpoint_ = choose_checkpoint(options_.output, options_.resume);
      }
    }
    checkpoint_ = ranks_.broadcast(checkpoint_);
    open();
    if (options_.train) {
      train();
    } else {
      load();
      model_->open_concepts(pool_);
      Evaluator evaluator(model_->model(), model_->processor(), pool_, {}, options_.planned);
      finish(evaluate_sets(evaluator, *corpus_, *data_, ranks_, summary_.stages));
    }
    summary_.peak_bytes = peak_resident_bytes();
    if (writes() && !summary_.interrupted) write_results(options_.output, summary_);
    ranks_.barrier();  // all is written, or all ranks have an error
    return std::move(summary_);
  }

 private:
  bool writes() const { return ranks_.rank() == 0; }

  void open() {
    const StageTimer timer(summary_.stages, Stage::loading);
    corpus_.emplace(open_corpus(options_));
    if (options_.train && options_.stopping.needs_evaluation() && corpus_->evaluations.empty()) {
      fail(ErrorKind::usage, "data.validation_file: missing; the best model is found by it");
    }
    model_.emplace(options_, *corpus_);
    if (options_.train) {
      loss_ = loss_for(options_, *corpus_, model_->augmentation().mixes());
      loss_.distill = distillation(options_, *model_);
      price_exits(options_, model_->config(), loss_);
      estimate_.emplace(model_->model(), model_->processor(), model_->trainable(), loss_, options_,
                        pool_);
      check_least_memory();
    }
    if (ranks_.size() > 1) agree_on_model(ranks_, options_, *model_);
    if (options_.explain.on && options_.train) {
      model_->set_trees(open_row_trees(options_, *corpus_, pool_), options_);
    }
    // The first rank encodes what is not there yet; the others find it, or have a disk of their
    // own.
    if (!writes()) ranks_.barrier();
    data_.emplace(open_datasets(options_, *corpus_, *model_, pool_));
    if (writes()) ranks_.barrier();
    if (ranks_.size() > 1) agree_on_evaluations(ranks_, *data_);
    for (const std::string& note : data_->notes) observer_.say(note);
  }

  /// Gives the memory that each rank may take, by the least of all.
  uint64_t available() const {
    const uint64_t own = available_memory(options_.gpu) /
                         static_cast<uint64_t>(options_.gpu ? 1 : ranks_.ranks_of_host());
    uint64_t least = own;
    for (const std::string& text : ranks_.gather(std::to_string(own))) {
      least = std::min<uint64_t>(least, std::stoull(text));
    }
    return least;
  }

  /// Fails before data is loaded where no batch can fit.
  void check_least_memory() {
    const data::Processor& processor = model_->processor();
    const int64_t longest = processor.max_units();
    const MemoryUse least = estimate_->of({1, longest}, options_.batch.accumulation);
    const BatchSize largest = largest_batch(options_.batch, longest);
    const MemoryUse most = estimate_->of(largest, options_.batch.accumulation);
    const uint64_t available = this->available();
    observer_.say(
        fmt::format("memory: weights, gradients and optimiser {}, activations at most {} "
                    "(a batch of {} {}); {} available",
                    megabytes(least.total() - least.activations), megabytes(most.activations),
                    largest.units, processor.unit_name(), megabytes(available)));
    if (least.total() > available) {
      fail(ErrorKind::memory,
           "not enough memory: training {} takes at least {} for one {} of {} {}, {} are "
           "available",
           model_->origin(), megabytes(least.total()), processor.sample_name(), longest,
           processor.unit_name(), megabytes(available));
    }
  }

  /// Fits the batches, whose lengths are known now: the largest must fit, or is made smaller where
  /// that is allowed. Halves of a batch add up to the same gradient.
  void fit_batches() {
    plan_batches();
    halve_as_before();
    for (;; plan_batches()) {
      const uint64_t available = this->available();
      if (summary_.memory.total() <= available) return;
      halve_batches(available,
                    fmt::format("not enough memory: batches of up to {} {} take {}, "
                                "{} are available",
                                largest_.units, model_->processor().unit_name(),
                                megabytes(summary_.memory.total()), megabytes(available)));
    }
  }

  /// Halves the batches as the run that is resumed did, which may have begun with less memory than
  /// there is now: its batches stay as they were.
  void halve_as_before() {
    if (checkpoint_.empty() || !options_.batch.find_size) return;
    const int64_t before = recorded_accumulation(checkpoint_);
    while (2 * options_.batch.accumulation <= before && largest_.samples > 1) {
      halve(options_.batch, largest_);
      plan_batches();
    }
  }

  void plan_batches() {
    sampler_.emplace(data_->training->store.lengths(),
                     sampling(options_, batch_devices_of(options_, ranks_)));
    step_schedule_ = plan_steps(options_, *sampler_);
    largest_ = share_of(largest_batch(*sampler_, step_schedule_.epochs),
                        devices_of(options_, ranks_), model_->processor().max_units());
    summary_.memory = estimate_->of(largest_, options_.batch.accumulation);
  }

  /// Halves the batches where that is allowed; else fails, with `why` and what would fit.
  void halve_batches(uint64_t available, const std::string& why) {
    if (options_.batch.find_size && largest_.samples > 1) {
      const int64_t before = largest_.units;
      halve(options_.batch, largest_);
      return observer_.say(fmt::format("batches of {} {} do not fit: a step is now {}", before,
                                       model_->processor().unit_name(),
                                       step_limits(options_.batch)));
    }
    std::string fits = "not one would fit";
    while (largest_.samples > 1) {
      halve(options_.batch, largest_);
      plan_batches();
      if (summary_.memory.total() > available) continue;
      fits = fmt::format(
          "steps of {} would fit: give {} and `batch.accumulation`, or `batch.find_size`",
          step_limits(options_.batch),
          options_.batch.train > 0 ? "`batch.train`" : "`batch.max_tokens`");
      break;
    }
    fail(ErrorKind::memory, "{}; {}", why, fits);
  }

  /// Opens the loop. A device has other users, and its allocator takes more than it is asked for:
  /// what fits by the estimate may not, and is then made smaller before anything has changed.
  void open_loop(std::optional<Loop>& loop) {
    for (;;) {
      try {
        loop.emplace(Loop::Parts{options_, *corpus_, *data_, *sampler_, *model_, ranks_, pool_,
                                 observer_, summary_, concepts_ ? &*concepts_ : nullptr},
                     step_schedule_, loss_, fingerprint_);
        return loop->reserve(extents_of(largest_, model_->processor()));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::memory || !options_.gpu || ranks_.size() > 1) throw;
        loop.reset();
        model_->model().parameters().leave_device();
        // A batch that did not fit does not fit, whatever the estimate says.
        halve_batches(std::min(available_memory(true), summary_.memory.total() - 1), error.what());
        plan_batches();
      }
    }
  }

  /// Compares adapters with what the same batches would take if every weight was trained.
  void compare_with_full(const BatchSize& batch) {
    if (!model_->model().lora()) return;
    const auto full = models::make_model(
        model_->config(),
        {DType::f32, Target::of(options_.gpu), true, {}, false, &model_->processor()});
    const MemoryEstimate estimate(*full, model_->processor(),
                                  std::vector<bool>(full->parameters().list().size(), true), loss_,
                                  options_, pool_);
    summary_.full = {estimate.of(batch, options_.batch.accumulation),
                     estimate_->flops(batch) / estimate.flops(batch)};
  }

  void load() {
    const StageTimer timer(summary_.stages, Stage::loading);
    const TrainedModel::Report report = model_->load(options_.seed, pool_);
    if (ranks_.size() > 1) agree_on_weights(ranks_, *model_);
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
    for (const nn::Parameter& parameter : model_->model().parameters().list()) {
      const int64_t count = parameter.weight.rows * parameter.weight.width;
      summary_.parameters += count;
      const auto slot = static_cast<size_t>(parameter.weight.slot);
      if (model_->trainable()[slot]) summary_.trainable += count;
    }
  }

  void train() {
    std::optional<profile::Span> preparing(std::in_place, "preparing", profile::Stage::loading);
    fit_batches();
    if (options_.batch.train > sampler_->size()) {
      observer_.warn(fmt::format("a batch of {} is more than the {} samples: every step sees all",
                                 options_.batch.train, sampler_->size()));
    }
    if (options_.balanced_class_weights) {
      loss_.class_weights = balanced_weights(data_->training->store);
    }
    teach(options_, *data_, pool_, observer_);
    fingerprint_ =
        fingerprint_of(options_, *model_, *data_, step_schedule_,
                       {ranks_.size(), batch_devices_of(options_, ranks_), pool_.size()});
    if (ranks_.size() > 1) agree_on_run(ranks_, fingerprint_);
    load();
    if (options_.explain.on) {
      concepts_.emplace(ConceptKeeper::Parts{options_, *corpus_, *data_, *model_, pool_});
      for (const std::string& note : concepts_->notes()) observer_.say(note);
    }
    std::optional<Loop> loop;
    open_loop(loop);
    compare_with_full(largest_);
    if (!checkpoint_.empty()) {
      const StageTimer timer(summary_.stages, Stage::loading);
      loop->resume(checkpoint_);
      observer_.say("going on from " + checkpoint_);
    }
    observer_.say(fmt::format(
        "{}: {} samples, {} steps of {}{} over {} epochs, {} of {} parameters are "
        "trained, {}",
        corpus_->name, sampler_->size(), step_schedule_.steps, step_limits(options_.batch),
        on_ranks(), step_schedule_.epochs, summary_.trainable, summary_.parameters,
        options_.gpu ? "on a GPU" : fmt::format("{} threads", pool_.size())));
    say_what_is_scored();
    preparing.reset();
    loop->train();
    if (summary_.interrupted) return;
    loop->load_best();
    loop->renew_concepts();
    const LogEntry evaluation = loop->evaluate();
    loop->take_average();
    finish(evaluation, loop->checkpoint_of_weights());
  }

  std::string on_ranks() const {
    const int64_t devices = devices_of(options_, ranks_);
    const int64_t counted = batch_devices_of(options_, ranks_);
    if (counted == 1) return "";
    const bool dp = options_.parallel.strategy == StrategyKind::dp;
    return fmt::format(" on each of {} {}{}", counted, dp ? "devices" : "ranks",
                       devices < counted ? fmt::format(", of which {} are left,", devices) : "");
  }

  void say_what_is_scored() {
    const models::ExitMethod exits = model_->config().exits.method;
    if (exits == models::ExitMethod::none || data_->evaluations.empty()) return;
    const bool fixed = exits == models::ExitMethod::deebert;
    observer_.say(
        fmt::format("evaluations score the last layer{}; measure the exits of the "
                    "finished model with hone convert",
                    fixed ? ", which stays as it is while exits are trained" : ""));
  }

  /// `checkpoint` is one of these weights, or empty.
  void finish(const LogEntry& evaluation, const std::string& checkpoint = {}) {
    summary_.evaluation = evaluation.values;
    if (!options_.train || !writes()) return;
    const StageTimer timer(summary_.stages, Stage::checkpoint);
    model_->save(options_.output, checkpoint);
    if (concepts_) concepts_->write_store(options_.output);
  }

  Options options_;
  comm::Communicator& ranks_;
  Muted muted_;
  Observer& observer_;
  ThreadPool pool_;
  std::optional<FolderLock> lock_;
  Summary summary_;
  std::optional<CudaTuning> tuning_;
  std::string checkpoint_;  ///< checkpoint to go on from; empty: from the start
  std::optional<Corpus> corpus_;
  std::optional<TrainedModel> model_;
  std::optional<Datasets> data_;
  std::optional<ConceptKeeper> concepts_;
  ops::LossOptions loss_;
  std::optional<MemoryEstimate> estimate_;
  std::optional<data::Sampler> sampler_;
  StepSchedule step_schedule_;
  BatchSize largest_;  ///< largest batch of one device
  Fingerprint fingerprint_;
};

Summary run(const Options& options, Observer& observer, comm::Communicator& ranks) {
  return Run(options, observer, ranks).go();
}

Summary run(const Options& options, Observer& observer) {
  comm::Communicator alone;
  return run(options, observer, alone);
}

}  // namespace hone::train
