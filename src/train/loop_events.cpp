// What a loop does between steps: logs, evaluations, checkpoints.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "train/loop.h"

namespace hone::train {
namespace {

/// The names of the best model's metric: as logged, and as users may write it.
std::string logged_name(const std::string& metric) {
  if (metric.empty()) return "eval_loss";
  return metric.starts_with("eval_") ? metric : "eval_" + metric;
}

}  // namespace

void Loop::record(const LogEntry& entry) {
  const StageTimer timer(parts_.summary.stages, Stage::logging);
  state_.history.push_back(entry);
  json_log_->write(entry);
  event_file_->write(entry);
  parts_.observer.logged(entry);
}

void Loop::log_training(const optim::StepReport& report, double rate) {
  const auto steps = static_cast<double>(state_.step - state_.logged_step);
  record({state_.step,
          epoch(),
          {{"loss", state_.loss_since_log / steps},
           {"grad_norm", report.grad_norm},
           {"learning_rate", rate}}});
  state_.loss_since_log = 0;
  state_.logged_step = state_.step;
}

LogEntry evaluate_sets(Evaluator& evaluator, const Corpus& corpus, const Datasets& data,
                       StageTimes& stages) {
  const StageTimer timer(stages, Stage::evaluation);
  LogEntry entry;
  for (const Datasets::Part& part : data.evaluations) {
    const Evaluation result = evaluator.evaluate(part.store, corpus.problem(), corpus.metrics);
    // As run_glue names those of MNLI's second set.
    const std::string end = &part == &data.evaluations.front() ? "" : "_mm";
    entry.values.emplace_back("eval_loss" + end, result.loss);
    for (const auto& [name, value] : result.metrics) {
      entry.values.emplace_back("eval_" + name + end, value);
    }
    entry.values.emplace_back("eval_samples" + end, static_cast<double>(result.samples));
    entry.values.emplace_back("eval_runtime" + end, result.seconds);
    entry.values.emplace_back("eval_samples_per_second" + end,
                              static_cast<double>(result.samples) / result.seconds);
  }
  return entry;
}

LogEntry Loop::evaluate() {
  if (!evaluated_) {
    evaluated_ = evaluate_sets(*evaluator_, parts_.corpus, parts_.data, parts_.summary.stages);
    evaluated_->step = state_.step;
    evaluated_->epoch = epoch();
  }
  return *evaluated_;
}

void Loop::evaluate_and_compare() {
  if (parts_.data.evaluations.empty()) return;
  const LogEntry entry = evaluate();
  record(entry);
  const StoppingOptions& stopping = parts_.options.stopping;
  const std::string name = logged_name(stopping.metric);
  const auto found = std::find_if(entry.values.begin(), entry.values.end(),
                                  [&](const auto& value) { return value.first == name; });
  if (found == entry.values.end()) {
    fail(ErrorKind::usage, "--metric_for_best_model: {} is none of what is evaluated",
         quote(stopping.metric));
  }
  const bool greater = stopping.greater_is_better.value_or(!name.ends_with("loss"));
  const double gain = state_.best ? (greater ? 1 : -1) * (found->second - *state_.best)
                                  : std::numeric_limits<double>::infinity();
  if (gain > stopping.threshold) {
    state_.evaluations_without_gain = 0;
  } else {
    ++state_.evaluations_without_gain;
  }
  if (gain > 0) {
    state_.best = found->second;
    state_.best_step = state_.step;
  }
}

bool Loop::out_of_patience() const {
  const int64_t patience = parts_.options.stopping.patience;
  return patience > 0 && state_.evaluations_without_gain >= patience;
}

void Loop::save() {
  const StageTimer timer(parts_.summary.stages, Stage::checkpoint);
  const std::string folder = checkpoint_path(parts_.options.output, state_.step);
  std::string& last = parts_.summary.last_checkpoint;
  if (last == folder) return;
  try {
    write_checkpoint(folder, {parts_.model, optimizer_, state_}, fingerprint_);
  } catch (const Error& problem) {
    if (is_fault(problem)) throw;  // faulted() says what is left
    fail(problem.kind(), "{}; {}", problem.what(),
         last.empty() ? "no checkpoint was written before" : "the last good checkpoint is " + last);
  }
  last = folder;
  const std::string best =
      state_.best ? checkpoint_path(parts_.options.output, state_.best_step) : "";
  rotate_checkpoints(parts_.options.output, parts_.options.save_total_limit, best);
}

void Loop::load_best() {
  if (!parts_.options.stopping.load_best || !state_.best || state_.best_step == state_.step) return;
  const StageTimer timer(parts_.summary.stages, Stage::checkpoint);
  const std::string best = checkpoint_path(parts_.options.output, state_.best_step);
  if (!folder_exists(best)) {  // a run that was taken up from another folder
    parts_.observer.warn(best + " is not there: the final model is the last one, not the best");
    return;
  }
  parts_.model.restore(best, parts_.pool);
  evaluated_.reset();
}

void Loop::show_progress(double rate) {
  const StageTimes& stages = parts_.summary.stages;
  const double aside = stages[Stage::evaluation] + stages[Stage::checkpoint];
  const double seconds = std::max(1e-9, rates_.watch.seconds() - (aside - rates_.aside));
  Progress progress;
  progress.step = state_.step;
  progress.steps = course_.steps;
  progress.epoch = epoch();
  progress.loss = state_.last_loss;
  progress.learning_rate = rate;
  progress.samples_per_second = static_cast<double>(rates_.samples) / seconds;
  progress.tokens_per_second = static_cast<double>(rates_.tokens) / seconds;
  if (peak_flops_ > 0) progress.share_of_peak = rates_.flops / seconds / peak_flops_;
  progress.seconds_left = seconds / static_cast<double>(rates_.steps) *
                          static_cast<double>(course_.steps - state_.step);
  parts_.observer.progress(progress);
}

}  // namespace hone::train
