#include "train/loop.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/peak.h"
#include "kernels/cuda/peak.h"
#include "optim/gpu_optimizer.h"

namespace hone::train {
namespace {

/// The batches of an optimiser step that each add to its gradients.
int64_t steps_of_epoch(const Options& options, const data::Sampler& sampler, int64_t epoch) {
  const int64_t batches = sampler.batches(epoch);
  return (batches + options.batch.accumulation - 1) / options.batch.accumulation;
}

/// What the sum of a group's losses is divided by.
double weight_of(const std::vector<data::PackedBatch>& group, int64_t size,
                 const std::vector<float>& class_weights) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const data::PackedBatch& batch = group[static_cast<size_t>(i)];
    if (class_weights.empty()) {
      sum += static_cast<double>(batch.size());
    } else {
      for (const int64_t label : batch.classes) sum += class_weights[static_cast<size_t>(label)];
    }
  }
  return sum;
}

}  // namespace

Course plan_course(const Options& options, const data::Sampler& sampler) {
  Course course;
  if (options.max_steps > 0) {
    course.steps = options.max_steps;
    for (int64_t steps = 0; steps < course.steps; ++course.epochs) {
      steps += steps_of_epoch(options, sampler, course.epochs);
    }
  } else {
    course.epochs = static_cast<int64_t>(std::ceil(options.epochs));
    for (int64_t epoch = 0; epoch < course.epochs; ++epoch) {
      const double share = std::min(1., options.epochs - static_cast<double>(epoch));
      const auto steps = static_cast<double>(steps_of_epoch(options, sampler, epoch));
      course.steps += static_cast<int64_t>(std::ceil(share * steps));
    }
  }
  const auto total = static_cast<double>(course.steps);
  course.schedule.kind = options.schedule;
  course.schedule.total = course.steps;
  course.schedule.warmup = options.warmup_steps > 0
                               ? options.warmup_steps
                               : static_cast<int64_t>(std::ceil(options.warmup_ratio * total));
  constexpr int64_t kMostLogged = 500;  // Trainer's interval
  course.logging_steps = options.logging_steps > 0
                             ? options.logging_steps
                             : std::clamp<int64_t>(course.steps / 20, 1, kMostLogged);
  return course;
}

Loop::Loop(const Parts& parts, const Course& course, const ops::LossOptions& loss,
           Fingerprint fingerprint)
    : parts_(parts),
      course_(course),
      loss_(loss),
      fingerprint_(std::move(fingerprint)),
      optimizer_(parts.model.encoder().parameters(), parts.model.trainable(),
                 parts.options.optimizer),
      stepper_(parts.model.encoder(), loss, optimizer_, parts.pool, parts.options.step),
      evaluator_(std::make_unique<Evaluator>(parts.model.encoder(), parts.pool, stepper_.arena())),
      batch_(parts.model.config()) {}

void Loop::reserve(const Extents& largest) {
  for (const Datasets::Part& part : parts_.data.evaluations) evaluator_->reserve(part.store);
  stepper_.reserve(largest, parts_.options.batch.accumulation > 1);
}

void Loop::resume(const std::string& folder) {
  read_checkpoint(folder, {parts_.model, optimizer_, state_}, fingerprint_, parts_.pool);
  parts_.summary.last_checkpoint = folder;
}

bool Loop::load_group(Started& step) {
  const Stopwatch watch;
  step.group.resize(static_cast<size_t>(parts_.options.batch.accumulation));
  while (step.size < static_cast<int64_t>(step.group.size())) {
    if (!loader_->next(step.group[static_cast<size_t>(step.size)])) break;
    if (step.group[static_cast<size_t>(step.size++)].ends_epoch()) break;
  }
  // A GPU is at work meanwhile.
  if (!optimizer_.gpu()) parts_.summary.stages.add(Stage::loading, watch.seconds());
  return step.size > 0;
}

void Loop::fill_batch(const data::PackedBatch& packed) {
  batch_.clear();
  for (size_t k = 0; k < packed.samples.size(); ++k) {
    const auto begin = static_cast<size_t>(packed.offsets[k]);
    const auto count = static_cast<size_t>(packed.offsets[k + 1]) - begin;
    batch_.add(std::span(packed.ids).subspan(begin, count),
               std::span(packed.type_ids).subspan(begin, count), packed.samples[k]);
  }
  labels_.classes.assign(packed.classes.begin(), packed.classes.end());
  labels_.targets = packed.targets;
}

void Loop::run_group(Started& step) {
  step.state = {.seed = parts_.options.seed,
                .step = next_step(),
                .count = weight_of(step.group, step.size, loss_.class_weights),
                .loss_scale = scale()};
  for (int64_t i = 0; i < step.size; ++i) {
    fill_batch(step.group[static_cast<size_t>(i)]);
    step.state.first = i == 0;
    step.losses.push_back(stepper_.start(batch_, labels_, step.state));
    rates_.flops += stepper_.flops(batch_.extents());
    if (optimizer_.gpu() || scaled()) continue;
    if (!std::isfinite(stepper_.loss(step.losses.back()))) diverged(step, "the loss");
  }
}

void Loop::start_step(Started step) {
  starting_ = true;
  run_group(step);
  step.rate = parts_.options.learning_rate * course_.schedule.factor(next_step());
  const Stopwatch watch;
  step.update = optimizer_.start_step(step.rate, parts_.pool, scale());
  evaluated_.reset();
  if (!optimizer_.gpu()) parts_.summary.stages.add(Stage::optimizer, watch.seconds());
  starting_ = false;
  const size_t more = ahead(step);
  started_.push_back(std::move(step));
  while (started_.size() > more) settle();
}

size_t Loop::ahead(const Started& step) const {
  constexpr size_t kAhead = 12;  // hides the host; reports come that much later
  if (!optimizer_.gpu() || scaled()) return 0;
  const int64_t number = next_step() + 1;
  const bool ends = step.last().ends_epoch();
  if (number >= course_.steps || due(parts_.options.evaluation, number, ends) ||
      due(parts_.options.saving, number, ends)) {
    return 0;
  }
  size_t losses = 0;
  for (const Stepper::Ticket& ticket : step.losses) losses += ticket.count;
  // All of a step's losses and the next one's must be there when it is looked at.
  const size_t room = Stepper::kInFlight / losses;
  return std::min(kAhead, room > 2 ? room - 2 : 0);
}

void Loop::settle_all() {
  while (!started_.empty()) settle();
}

void Loop::settle() {
  const optim::StepReport report = optimizer_.report(started_.front().update);
  const Started step = std::move(started_.front());
  double loss = 0;
  for (const Stepper::Ticket& ticket : step.losses) loss += stepper_.loss(ticket);
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

/// A GPU may have gone on since: without changing weights, as it takes no step that is not finite,
/// and the step is run again.
std::string Loop::where_not_finite(const Started& step) {
  if (!optimizer_.gpu()) return stepper_.first_non_finite();
  std::string found;
  for (int64_t i = 0; i < step.size && found.empty(); ++i) {
    fill_batch(step.group[static_cast<size_t>(i)]);
    StepState state = step.state;
    state.first = i == 0;
    stepper_.accumulate(batch_, labels_, state);
    found = stepper_.first_non_finite();
  }
  return found;
}

bool Loop::scaled() const { return parts_.options.step.dtype == DType::f16; }

double Loop::scale() const { return scaled() ? state_.scaler.scale() : 1; }

void Loop::finish_step(const Started& step, double loss, const optim::StepReport& report) {
  const data::PackedBatch& last = step.last();
  const double rate = step.rate;
  for (int64_t i = 0; i < step.size; ++i) {
    const data::PackedBatch& packed = step.group[static_cast<size_t>(i)];
    rates_.samples += packed.size();
    rates_.tokens += packed.tokens();
    state_.samples += packed.size();
    state_.tokens += packed.tokens();
  }
  state_.position = last.end;
  epoch_ended_ = last.ends_epoch();
  ++state_.step;
  between_ = true;
  ++rates_.steps;
  state_.loss_since_log += loss;
  state_.loss_in_all += loss;
  state_.last_loss = loss;
  const bool ended = state_.step >= course_.steps;
  if (state_.step % course_.logging_steps == 0 || ended) log_training(report, rate);
  show_progress(rate);
  if (due(parts_.options.evaluation)) evaluate_and_compare();
  if (due(parts_.options.saving) ||
      (ended && parts_.options.saving.kind != Interval::Kind::never)) {
    save();
  }
  between_ = false;
}

void Loop::train() {
  const Stopwatch watch;
  const int64_t resumed = state_.step > 0 ? state_.step : -1;
  json_log_.emplace(parts_.options.output + "/log.jsonl", resumed);
  event_file_.emplace(parts_.options.output + "/runs", resumed);
  data::LoaderOptions loading;
  loading.workers = parts_.options.batch.workers;
  loading.begin = state_.position;
  loading.end_epoch = course_.epochs;
  loader_ = std::make_unique<data::Loader>(parts_.data.training->store, parts_.sampler, loading);
  if (optimizer_.gpu()) {
    peak_flops_ = kernels::cuda::measured_peak(parts_.options.step.dtype);
  } else {
    // fp16 is emulated: its products run in fp32.
    const DType products = scaled() ? DType::f32 : parts_.options.step.dtype;
    peak_flops_ = 1e9 * kernels::measured_peak(parts_.model.encoder().parameters().isa(), products,
                                               parts_.pool);
  }
  Summary& summary = parts_.summary;
  rates_ = {};
  rates_.aside = summary.stages[Stage::evaluation] + summary.stages[Stage::checkpoint];
  try {
    run_steps();
  } catch (const Error& error) {
    if (!is_fault(error)) throw;
    faulted(error);
  }
  account();
  summary.stopped_early = !summary.interrupted && out_of_patience();
  summary.train_seconds = watch.seconds();
  summary.waiting_share = loader_->waiting_seconds() / std::max(summary.train_seconds, 1e-9);
  summary.steps = state_.step;
  summary.epochs = epoch();
  summary.samples = state_.samples;
  summary.tokens = state_.tokens;
  summary.train_loss = state_.loss_in_all / static_cast<double>(std::max<int64_t>(1, state_.step));
  summary.best = state_.best;
  summary.best_step = state_.best_step;
  if (summary.interrupted) return;
  write_state(parts_.options.output, {parts_.model, optimizer_, state_});
  record({state_.step,
          epoch(),
          {{"train_loss", summary.train_loss},
           {"train_runtime", summary.train_seconds},
           {"waiting_share", summary.waiting_share}}});
}

void Loop::run_steps() {
  Summary& summary = parts_.summary;
  while (next_step() < course_.steps && !out_of_patience()) {
    Started step;
    if (!load_group(step)) break;
    start_step(std::move(step));
    if (parts_.observer.stop_requested()) {
      settle_all();
      summary.interrupted = true;
      if (summary.last_checkpoint != checkpoint_path(parts_.options.output, state_.step)) save();
      break;
    }
  }
  settle_all();
}

std::string Loop::what_is_left() const {
  const std::string& last = parts_.summary.last_checkpoint;
  return last.empty() ? "no checkpoint was written" : "the last good checkpoint is " + last;
}

bool Loop::is_fault(const Error& error) {
  return error.kind() == ErrorKind::internal || error.kind() == ErrorKind::memory;
}

void Loop::faulted(const Error& error) const {
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
  stages.add(Stage::forward, stepper_.forward_seconds());
  stages.add(Stage::backward, stepper_.backward_seconds());
  optim::GpuOptimizer* gpu = optimizer_.gpu();
  if (!gpu) return;
  stages.add(Stage::optimizer, gpu->seconds());
  const double aside = stages[Stage::evaluation] + stages[Stage::checkpoint] - rates_.aside;
  const double busy = stepper_.forward_seconds() + stepper_.backward_seconds() + gpu->seconds();
  parts_.summary.gpu_idle_share =
      std::max(0., 1 - busy / std::max(1e-9, rates_.watch.seconds() - aside));
}

void Loop::diverged(const Started& step, const std::string& what) {
  fail(ErrorKind::failed, "step {}: {} is not a finite number, first in {}; {}", state_.step + 1,
       what, where_not_finite(step), what_is_left());
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
