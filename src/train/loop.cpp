#include "train/loop.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/peak.h"
#include "train/concept_keeper.h"
#include "train/processor_peak.h"

namespace hone::train {
namespace {

/// Counts the optimiser steps of an epoch; the batches of a step each add to its gradients.
int64_t steps_of_epoch(const Options& options, const data::Sampler& sampler, int64_t epoch) {
  const int64_t batches = sampler.batches(epoch);
  return (batches + options.batch.accumulation - 1) / options.batch.accumulation;
}

/// Where ranks share memory, gradients lie in it.
optim::GradientMemory gradient_memory(comm::Communicator& ranks, bool gpu) {
  if (ranks.size() == 1 || gpu) return {};
  return [&ranks](size_t bytes) { return ranks.window(bytes); };
}

}  // namespace

StepSchedule plan_steps(const Options& options, const data::Sampler& sampler) {
  StepSchedule schedule;
  if (options.max_steps > 0) {
    schedule.steps = options.max_steps;
    for (int64_t steps = 0; steps < schedule.steps; ++schedule.epochs) {
      steps += steps_of_epoch(options, sampler, schedule.epochs);
    }
  } else {
    schedule.epochs = static_cast<int64_t>(std::ceil(options.epochs));
    for (int64_t epoch = 0; epoch < schedule.epochs; ++epoch) {
      const double share = std::min(1., options.epochs - static_cast<double>(epoch));
      const auto steps = static_cast<double>(steps_of_epoch(options, sampler, epoch));
      schedule.steps += static_cast<int64_t>(std::ceil(share * steps));
    }
  }
  const auto total = static_cast<double>(schedule.steps);
  schedule.learning_rate.kind = options.schedule;
  schedule.learning_rate.total = schedule.steps;
  schedule.learning_rate.warmup =
      options.warmup_steps > 0 ? options.warmup_steps
                               : static_cast<int64_t>(std::ceil(options.warmup_ratio * total));
  schedule.learning_rate.step_size =
      options.step_size_epochs * std::max<int64_t>(1, steps_of_epoch(options, sampler, 0));
  schedule.learning_rate.gamma = options.gamma;
  constexpr int64_t kMostLogged = 500;  // Trainer's interval
  schedule.logging_steps = options.logging_steps > 0
                               ? options.logging_steps
                               : std::clamp<int64_t>(schedule.steps / 20, 1, kMostLogged);
  return schedule;
}

namespace {

std::optional<WeightAverage> average_of(nn::Parameters& parameters, double decay) {
  if (decay <= 0) return std::nullopt;
  return std::make_optional<WeightAverage>(parameters, decay);
}

}  // namespace

Loop::Loop(const Parts& parts, const StepSchedule& schedule, const ops::LossOptions& loss,
           Fingerprint fingerprint)
    : parts_(parts),
      step_schedule_(schedule),
      loss_(loss),
      optimizer_(optim::Optimizer::make(parts.model.model().parameters(), parts.model.trainable(),
                                        parts.options.optimizer,
                                        gradient_memory(parts.ranks, parts.options.gpu))),
      average_(average_of(parts.model.model().parameters(), parts.options.average_decay)),
      backend_(Backend::of(parts.model.model().parameters().target().device)),
      stepper_(parts.model.model(), loss, *optimizer_, parts.pool, parts.options.step,
               parts.options.planned, &parts.data.teacher),
      slices_(slices_of(parts.options.parallel, parts.ranks)),
      strategy_(Strategy::make({parts.options, parts.ranks, parts.model.model(), loss_, *optimizer_,
                                stepper_, parts.pool, &parts.data.teacher})),
      shares_(slices_.total),
      evaluator_(std::make_unique<Evaluator>(parts.model.model(), parts.model.processor(),
                                             parts.pool, stepper_.arena(), parts.options.planned)),
      writer_(parts.options, training(), std::move(fingerprint), parts.pool, parts.observer,
              parts.summary) {}

void Loop::reserve(const Extents& largest) {
  for (const Datasets::Part& part : parts_.data.evaluations) evaluator_->reserve(part.store);
  stepper_.reserve(largest, parts_.options.batch.accumulation > 1);
}

void Loop::resume(const std::string& folder) {
  read_checkpoint(folder, training(), writer_.fingerprint(), parts_.pool);
  parts_.summary.last_checkpoint = folder;
  if (parts_.concepts && state_.position.index > 0) {
    parts_.concepts->restore(folder + "/" + kConceptsCopy, state_.position.epoch);
  }
}

bool Loop::load_group(Started& step) {
  const profile::Span span("waiting for a batch", profile::Stage::loading);
  step_watch_ = Stopwatch();
  exposed_before_ = parts_.ranks.times().exposed;
  const auto most = static_cast<size_t>(parts_.options.batch.accumulation);
  step.group.assign(slices_.count, SliceBatches(most));
  while (step.size < most) {
    std::vector<data::Batch*> next;
    for (SliceBatches& slice : step.group) next.push_back(&slice[step.size]);
    if (!loader_->next(next)) break;
    if (step.group.front()[step.size++].ends_epoch()) break;
  }
  step.state.waited = step_watch_.seconds();
  return step.size > 0;
}

double Loop::weight_of(const Started& step) const {
  const std::vector<float>& class_weights = loss_.class_weights;
  const data::SampleStore& store = parts_.data.training->store;
  double sum = 0;
  for (size_t i = 0; i < step.size; ++i) {
    const std::vector<int64_t>& samples = step.group.front()[i].all();
    if (class_weights.empty() || !loss_.weights_divide) {
      sum += static_cast<double>(samples.size());
      continue;
    }
    for (const int64_t sample : samples) {
      sum += class_weights[static_cast<size_t>(store.class_of(sample))];
    }
  }
  return sum;
}

void Loop::run_group(Started& step) {
  step.state.seed = parts_.options.seed;
  step.state.step = next_step();
  step.state.count = weight_of(step);
  step.state.loss_scale = scale();
  parts_.ranks.set_step(next_step() + 1);
  strategy_->run(step.group, step.size, step.state,
                 [&](const data::Batch& batch, const Stepper::Ticket& loss) {
                   step.losses.push_back(loss);
                   if (!loss) return;
                   rates_.flops += stepper_.flops(batch.extents());
                   if (backend_.runs_ahead() || scaled() || !alone()) return;
                   if (!std::isfinite(stepper_.loss(loss))) diverged(step, "the loss");
                 });
}

void Loop::start_step(Started step) {
  starting_ = true;
  run_group(step);
  step.rate = parts_.options.learning_rate * step_schedule_.learning_rate.factor(next_step());
  {
    const profile::Span span(
        "optimizer", backend_.runs_ahead() ? profile::Stage::device : profile::Stage::optimizer);
    step.update = optimizer_->start_step(step.rate, parts_.pool, scale());
  }
  stepper_.end_step();
  evaluated_.reset();
  starting_ = false;
  const size_t more = ahead(step);
  started_.push_back(std::move(step));
  while (started_.size() > more) settle();
}

size_t Loop::ahead(const Started& step) const {
  constexpr size_t kAhead = 12;  // hides the host; reports come that much later
  if (!backend_.runs_ahead() || scaled() || balancer_) return 0;
  const int64_t number = next_step() + 1;
  const bool ends = step.last().ends_epoch();
  // Concepts are encoded anew by the weights at an epoch's end.
  if (parts_.concepts && ends) return 0;
  if (number >= step_schedule_.steps || due(parts_.options.evaluation, number, ends) ||
      due(parts_.options.saving, number, ends)) {
    return 0;
  }
  return kAhead;
}

void Loop::settle_all() {
  while (!started_.empty()) settle();
}

void Loop::settle() {
  optim::StepReport report;
  double loss = 0;
  {
    const profile::Span span("waiting for the device", backend_.runs_ahead()
                                                           ? profile::Stage::device
                                                           : profile::Stage::optimizer);
    report = optimizer_->report(started_.front().update);
    if (alone()) {
      for (const Stepper::Ticket& ticket : started_.front().losses) loss += loss_of(ticket);
    }
  }
  const Started step = std::move(started_.front());
  if (!alone()) {
    const profile::Span span("telling the ranks", profile::Stage::communication);
    loss = tell(step);
  }
  if (!std::isfinite(loss) && !scaled()) diverged(step, "the loss");
  if (report.skipped) {
    if (!scaled() || scale() < 2) diverged(step, "a gradient");
    parts_.observer.warn(fmt::format(
        "step {}: too large for fp16 at loss scale {}: {}; nothing is changed, the scale is halved",
        state_.step + 1, scale(), where_not_finite(step)));
  }
  started_.pop_front();
  if (scaled()) state_.scaler.update(report.skipped);
  finish_step(step, std::isfinite(loss) ? loss : state_.last_loss, report);
}

bool Loop::scaled() const { return parts_.options.step.dtype == DType::f16; }

double Loop::scale() const { return scaled() ? state_.scaler.scale() : 1; }

void Loop::finish_step(const Started& step, double loss, const optim::StepReport& report) {
  const data::Batch& last = step.last();
  const double rate = step.rate;
  for (size_t i = 0; i < step.size; ++i) {
    const data::Batch& packed = step.group.front()[i];
    const int64_t samples = std::ssize(packed.all());
    const int64_t units = alone() ? packed.units : parts_.sampler.tokens(packed.all());
    rates_.samples += samples;
    rates_.tokens += units;
    state_.samples += samples;
    state_.tokens += units;
  }
  state_.position = last.end;
  epoch_ended_ = last.ends_epoch();
  ++state_.step;
  if (average_) average_->update(state_.step, parts_.pool);
  between_ = true;
  ++rates_.steps;
  state_.loss_since_log += loss;
  state_.loss_in_all += loss;
  state_.last_loss = loss;
  const bool ended = state_.step >= step_schedule_.steps;
  if (state_.step % step_schedule_.logging_steps == 0 || ended) log_training(report, rate);
  show_progress(rate);
  if (due(parts_.options.evaluation)) evaluate_and_compare();
  if (due(parts_.options.saving) ||
      (ended && parts_.options.saving.kind != Interval::Kind::never)) {
    save(!ended);
  }
  between_ = false;
}

void Loop::train() {
  const Stopwatch watch;
  std::optional<profile::Span> preparing(std::in_place, "preparing", profile::Stage::loading);
  const int64_t resumed = state_.step > 0 ? state_.step : -1;
  if (writes()) {
    json_log_.emplace(parts_.options.output + "/log.jsonl", resumed);
    event_file_.emplace(parts_.options.output + "/runs", resumed);
  }
  data::LoaderOptions loading;
  loading.workers = parts_.options.batch.workers;
  loading.begin = state_.position;
  loading.end_epoch = step_schedule_.epochs;
  loader_ =
      std::make_unique<SliceLoader>(parts_.data.training->store, parts_.model.training_processor(),
                                    parts_.sampler, loading, slices_, shares_);
  if (parts_.options.parallel.balance) balancer_.emplace(slices_.total, loading.ahead());
  if (parts_.options.gpu) {
    peak_flops_ = kernels::cuda::measured_peak(parts_.options.step.dtype);
  } else {
    // fp16 is emulated: its products run in fp32.
    const DType products = scaled() ? DType::f32 : parts_.options.step.dtype;
    peak_flops_ = processor_peak(parts_.model.model().parameters().isa(), products, parts_.pool);
  }
  if (writes()) writer_.reserve();
  Summary& summary = parts_.summary;
  rates_ = {};
  rates_.excluded_seconds = summary.stages[Stage::evaluation] + summary.stages[Stage::checkpoint];
  preparing.reset();
  try {
    run_steps();
  } catch (const Error& error) {
    if (!is_fault(error)) throw;
    faulted(error);
  }
  account();
  tell_profile();
  summary.stopped_early |= !summary.interrupted && out_of_patience();
  summary.train_seconds = watch.seconds();
  summary.waiting_share = loader_->waiting_seconds() / std::max(summary.train_seconds, 1e-9);
  summary.steps = state_.step;
  summary.epochs = epoch();
  summary.samples = state_.samples;
  summary.tokens = state_.tokens;
  summary.train_loss = state_.loss_in_all / static_cast<double>(std::max<int64_t>(1, state_.step));
  summary.best = state_.best;
  summary.best_step = state_.best_step;
  summary.communication = parts_.ranks.times();
  summary.communication_bytes = strategy_->bytes();
  if (summary.interrupted) return;
  if (writes()) write_state(parts_.options.output, state_, optimizer_->steps());
  LogEntry entry{state_.step,
                 epoch(),
                 {{"train_loss", summary.train_loss},
                  {"train_runtime", summary.train_seconds},
                  {"waiting_share", summary.waiting_share}}};
  if (parts_.ranks.size() > 1) {
    entry.values.emplace_back("exposed_communication", summary.communication.exposed);
  }
  record(entry);
}

void Loop::run_steps() {
  Summary& summary = parts_.summary;
  while (next_step() < step_schedule_.steps && !out_of_patience()) {
    profile::begin_step();
    begin_epoch();
    Started step;
    if (!load_group(step)) break;
    start_step(std::move(step));
    if (stop_requested()) {
      settle_all();
      summary.interrupted = true;
      save(false);
      break;
    }
    write_files(Stage::checkpoint, [&] { writer_.check(); });
    summary.stopped_early = end_requested();
    if (summary.stopped_early) break;
  }
  settle_all();
  write_files(Stage::checkpoint, [&] { writer_.finish(); });
  agree_on_checkpoint();
}

std::string Loop::what_is_left() {
  writer_.wait();
  const std::string& last = parts_.summary.last_checkpoint;
  return last.empty() ? "no checkpoint was written" : "the last good checkpoint is " + last;
}

bool Loop::is_fault(const Error& error) {
  return error.kind() == ErrorKind::internal || error.kind() == ErrorKind::memory;
}

void Loop::faulted(const Error& error) {
  const int64_t first = state_.step + 1;
  const int64_t last = std::max(first, next_step() + (starting_ ? 1 : 0));
  const std::string steps = between_        ? fmt::format("behind step {}", state_.step)
                            : first == last ? fmt::format("step {}", first)
                                            : fmt::format("steps {} to {}", first, last);
  fail(error.kind(), "{}: {}; {}", steps, error.what(), what_is_left());
}

double Loop::epoch() const {
  return static_cast<double>(state_.position.epoch) +
         static_cast<double>(state_.position.index) / static_cast<double>(parts_.sampler.size());
}

void Loop::account() {
  StageTimes& stages = parts_.summary.stages;
  const StepTimes& times = stepper_.times();
  stages.add(Stage::loading, times.starved);
  stages.add(Stage::forward, times.forward);
  stages.add(Stage::backward, times.backward);
  stages.add(Stage::optimizer, optimizer_->seconds());
  if (!backend_.runs_ahead()) return;
  const double excluded =
      stages[Stage::evaluation] + stages[Stage::checkpoint] - rates_.excluded_seconds;
  const double busy = times.forward + times.backward + optimizer_->seconds();
  parts_.summary.gpu_idle_share =
      std::max(0., 1 - busy / std::max(1e-9, rates_.watch.seconds() - excluded));
}

void Loop::diverged(const Started& step, const std::string& what) {
  const std::string where = where_not_finite(step);
  writer_.wait();
  agree_on_checkpoint();
  const std::string why = fmt::format("step {}: {} is not a finite number, first in {}; {}",
                                      state_.step + 1, what, where, what_is_left());
  if (parts_.ranks.size() > 1) parts_.ranks.fail_run(why);
  fail(ErrorKind::failed, "{}", why);
}

bool Loop::due(const Interval& interval, int64_t step, bool epoch_ended) {
  switch (interval.kind) {
    case Interval::Kind::steps:
      return step % interval.steps == 0;
    case Interval::Kind::epoch:
      return epoch_ended;
    default:
      return false;
  }
}

}  // namespace hone::train
