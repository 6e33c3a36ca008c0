// This file has what a loop does between steps: logs, evaluations, checkpoints.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "train/concept_keeper.h"
#include "train/loop.h"

namespace hone::train {
namespace {

/// Gives the names of the best model's metric: as logged, and as users may write it.
std::string logged_name(const std::string& metric) {
  if (metric.empty()) return "eval_loss";
  return metric.starts_with("eval_") ? metric : "eval_" + metric;
}

}  // namespace

void Loop::write_files(Stage stage, FunctionRef<void()> work) {
  const StageTimer timer(parts_.summary.stages, stage);
  try {
    work();
  } catch (const Error& problem) {
    if (is_fault(problem)) throw;  // faulted() says what is left
    writer_.wait();
    const std::string& last = parts_.summary.last_checkpoint;
    fail(problem.kind(), "{}; {}", problem.what(),
         last.empty() ? "no checkpoint was written before" : "the last good checkpoint is " + last);
  }
}

void Loop::record(const LogEntry& entry) {
  state_.history.push_back(entry);
  write_files(Stage::logging, [&] {
    if (!writes()) return;
    const LogEntry logged = with_usage(entry);
    json_log_->write(logged);
    event_file_->write(logged);
    parts_.observer.logged(entry);
  });
}

void Loop::log_training(const optim::StepReport& report, double rate) {
  const auto steps = static_cast<double>(state_.step - state_.logged_step);
  LogEntry entry{state_.step,
                 epoch(),
                 {{"loss", state_.loss_since_log / steps},
                  {"grad_norm", report.grad_norm},
                  {"learning_rate", rate}}};
  for (size_t rank = 0; balancer_ && rank < news_.size(); ++rank) {
    const RankWork& work = news_[rank].work;
    entry.ranks.push_back({parts_.ranks.hosts()[rank], work.samples, work.seconds});
  }
  record(entry);
  state_.loss_since_log = 0;
  state_.logged_step = state_.step;
}

LogEntry evaluate_sets(Evaluator& evaluator, const Corpus& corpus, const Datasets& data,
                       comm::Communicator& ranks, StageTimes& stages) {
  const StageTimer timer(stages, Stage::evaluation);
  if (profile::Recorder* recorder = profile::active()) recorder->add_fact("evaluations", 1);
  LogEntry entry;
  for (const Datasets::Part& part : data.evaluations) {
    const SplitScores result =
        evaluator.evaluate(part.store, corpus.problem(), corpus.metrics, ranks);
    // The names of MNLI's second set end as run_glue has them.
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
    if (average_) average_->exchange(parts_.pool);
    evaluated_ =
        evaluate_sets(*evaluator_, parts_.corpus, parts_.data, parts_.ranks, parts_.summary.stages);
    if (average_) average_->exchange(parts_.pool);
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
    fail(ErrorKind::usage, "stopping.metric: {} is none of what is evaluated",
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

void Loop::save(bool steps_follow) {
  if (!writes()) return;
  write_files(Stage::checkpoint, [&] { writer_.save(steps_follow); });
}

void Loop::load_best() {
  if (!parts_.options.stopping.load_best || !state_.best || state_.best_step == state_.step) return;
  const StageTimer timer(parts_.summary.stages, Stage::checkpoint);
  const std::string best = checkpoint_path(parts_.options.output, state_.best_step);
  if (!folder_exists(best)) {  // happens where a run was resumed from another folder
    parts_.observer.warn(best + " is not there: the final model is the last one, not the best");
    return;
  }
  parts_.model.restore(best, parts_.pool);
  restore_average(best, training());
  loaded_best_ = best;
  evaluated_.reset();
}

void Loop::begin_epoch() {
  if (!parts_.concepts) return;
  const StageTimer timer(parts_.summary.stages, Stage::evaluation);
  const profile::Span span("encoding concepts", profile::Stage::evaluation);
  parts_.concepts->begin_epoch(state_.position.epoch);
}

void Loop::renew_concepts() {
  if (!parts_.concepts) return;
  const StageTimer timer(parts_.summary.stages, Stage::evaluation);
  parts_.concepts->encode();
  evaluated_.reset();
}

void Loop::take_average() {
  if (average_) average_->exchange(parts_.pool);
}

std::string Loop::checkpoint_of_weights() const {
  if (average_) return "";
  if (!loaded_best_.empty()) return loaded_best_;
  const std::string newest = checkpoint_path(parts_.options.output, state_.step);
  return newest == parts_.summary.last_checkpoint ? newest : "";
}

void Loop::show_progress(double rate) {
  const StageTimes& stages = parts_.summary.stages;
  const double excluded_seconds = stages[Stage::evaluation] + stages[Stage::checkpoint];
  const double seconds =
      std::max(1e-9, rates_.watch.seconds() - (excluded_seconds - rates_.excluded_seconds));
  Progress progress;
  progress.step = state_.step;
  progress.steps = step_schedule_.steps;
  progress.epoch = epoch();
  progress.loss = state_.last_loss;
  progress.learning_rate = rate;
  progress.samples_per_second = static_cast<double>(rates_.samples) / seconds;
  progress.tokens_per_second = static_cast<double>(rates_.tokens) / seconds;
  if (peak_flops_ > 0) progress.share_of_peak = rates_.flops / seconds / peak_flops_;
  progress.seconds_left = seconds / static_cast<double>(rates_.steps) *
                          static_cast<double>(step_schedule_.steps - state_.step);
  parts_.observer.progress(progress);
}

}  // namespace hone::train
