#include "train/stepper.h"

#include <algorithm>
#include <optional>

#include "profile/recorder.h"

namespace hone::train {

namespace {

/// Says whether a step of the plan comes behind the losses.
bool is_backward(const Step& step, const models::Pass& pass) {
  const bool gives_loss =
      std::any_of(pass.losses.begin(), pass.losses.end(), [&](const models::NamedValue& loss) {
        return std::any_of(step.writes.begin(), step.writes.end(),
                           [&](const Value& value) { return value.id == loss.value.id; });
      });
  return !gives_loss && &step >= &pass.plan->steps()[pass.forward_steps];
}

}  // namespace

Stepper::TrainingPass::TrainingPass(Stepper& stepper, const models::TrainingOptions& options)
    : pass(stepper.model_.record_training(stepper.loss_, stepper.optimizer_.trainable(), options)),
      runner(pass.plan, stepper.parameters_.arrays_for(options.dtype, pass.shadows, true),
             stepper.pool_, {stepper.optimizer_.gradients(), stepper.arena_, stepper.planned_}),
      cuts({pass.forward_steps}) {
  if (options.set_gradients) runner.lend(stepper.optimizer_.gradient_array());
  runner.set_cuts(cuts);
}

models::TrainingOptions first_pass(models::TrainingOptions options, const Target& target) {
  options.set_gradients = Backend::of(target.device).sets_gradients();
  return options;
}

Stepper::Stepper(models::Model& model, const ops::LossOptions& loss, optim::Optimizer& optimizer,
                 ThreadPool& pool, const models::TrainingOptions& options, bool planned,
                 const std::vector<float>* teacher)
    : model_(model),
      loss_(loss),
      options_(options),
      planned_(planned),
      parameters_(model.parameters()),
      optimizer_(optimizer),
      pool_(pool),
      backend_(Backend::of(parameters_.target().device)),
      pass_(*this, first_pass(options, parameters_.target())),
      teacher_(teacher) {
  optimizer.set_gradients_set(pass_.pass.set_slots);
  for (Marks& marks : marks_) {
    for (auto* marker : {&marks.idle_from, &marks.begin, &marks.middle, &marks.end}) {
      *marker = backend_.marker();
    }
  }
}

Stepper::~Stepper() = default;

void Stepper::set_cuts(std::vector<size_t> steps) {
  steps.push_back(pass_.pass.forward_steps);
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  pass_.cuts = std::move(steps);
  pass_.runner.set_cuts(pass_.cuts);
}

void Stepper::reserve(const Extents& extents, bool more) {
  if (!backend_.sets_gradients()) return;
  pass_.runner.resize(extents);
  if (!more) return;
  if (!more_) more_ = std::make_unique<TrainingPass>(*this, options_);
  more_->runner.resize(extents);
}

void Stepper::bind(TrainingPass& training, const data::Batch& batch, const StepState& state) {
  random_[0] = static_cast<int64_t>(state.seed);
  random_[1] = state.step;
  scale_[0] = state.count;
  scale_[1] = state.loss_scale;
  Runner& runner = training.runner;
  const models::Pass& pass = training.pass;
  runner.resize(batch.extents());
  pass.bind(batch, runner);
  runner.bind(pass.random, random_);
  runner.bind(pass.scale, scale_);
  if (!pass.labels.present()) return;
  runner.bind(pass.labels, batch.targets.empty() ? static_cast<const void*>(batch.classes.data())
                                                 : batch.targets.data());
  if (!pass.teacher) return;
  const auto width = static_cast<size_t>(pass.teacher->width);
  taught_.clear();
  for (const int64_t sample : batch.samples) {
    const auto* row = teacher_->data() + static_cast<size_t>(sample) * width;
    taught_.insert(taught_.end(), row, row + width);
  }
  runner.bind(*pass.teacher, taught_.data());
}

double Stepper::accumulate(const data::Batch& batch, const StepState& state) {
  return loss(start(batch, state));
}

Stepper::Ticket Stepper::start(const data::Batch& batch, const StepState& state,
                               const Passed& passed) {
  const bool adds = backend_.sets_gradients() && !state.first;
  if (adds && !more_) more_ = std::make_unique<TrainingPass>(*this, options_);
  TrainingPass& training = adds ? *more_ : pass_;
  last_ = &training;
  bind(training, batch, state);
  parameters_.refresh(pool_);
  Marks& marks = marks_[turn_];
  if (marks.open) take(marks_.size() - 1);
  turn_ = (turn_ + 1) % marks_.size();
  marks.waited = state.waited;
  run(training, marks, passed);
  marks.open = true;
  std::vector<Value> losses;
  for (const models::NamedValue& each : training.pass.losses) losses.push_back(each.value);
  return training.runner.fetch(losses);
}

void Stepper::run(TrainingPass& training, Marks& marks, const Passed& passed) {
  const bool ahead = backend_.runs_ahead();
  std::optional<profile::Span> span;
  if (profile::Recorder* recorder = profile::active()) {
    training.runner.set_sink(recorder->sink());
  }
  marks.begin->record();
  span.emplace("forward", ahead ? profile::Stage::device : profile::Stage::forward);
  training.runner.start([&](size_t cut) {
    const size_t steps = training.cuts[cut];
    if (steps == training.pass.forward_steps) {
      marks.middle->record();
      span.reset();
      span.emplace("loss and backward", ahead ? profile::Stage::device : profile::Stage::backward);
    }
    if (passed) passed(steps);
  });
  marks.end->record();
}

void Stepper::end_step() {
  Marks& next = marks_[turn_];
  if (next.open) take(marks_.size() - 1);
  next.idle_from->record();
  next.follows = true;
}

double Stepper::loss(const Ticket& ticket) const {
  const auto* shares = reinterpret_cast<const double*>(ticket->data());
  double sum = 0;
  for (size_t i = 0; i < pass_.pass.losses.size(); ++i) sum += shares[i];
  return sum;
}

void Stepper::take(size_t left) {
  for (size_t i = 0; i + left < marks_.size(); ++i) {
    Marks& marks = marks_[(turn_ + i) % marks_.size()];
    if (!marks.open) continue;
    marks.end->wait();
    times_.forward += marks.middle->seconds_since(*marks.begin);
    times_.backward += marks.end->seconds_since(*marks.middle);
    const double idle = marks.follows ? marks.begin->seconds_since(*marks.idle_from) : marks.waited;
    times_.starved += std::clamp(idle, 0., marks.waited);
    marks.open = marks.follows = false;
  }
}

const StepTimes& Stepper::times() {
  take(0);
  return times_;
}

std::string Stepper::first_non_finite() {
  optimizer_.drop_gradients();
  const Step* step = last_->runner.run_to_non_finite();
  std::string found;
  if (step) {
    found = step->scope + ": " + step->name;
    const auto& about = step->weights.empty() ? step->gradients : step->weights;
    if (!step->tables.empty()) {
      found += " of " + name_of(step->tables.front().table);
    } else if (!about.empty()) {
      found += " of " + name_of(about.front());
    }
    if (is_backward(*step, last_->pass)) found += ", in the backward pass";
  } else {
    const auto bad = [&](const nn::Parameter& parameter) {
      return !optimizer_.gradient_is_finite(parameter.weight);
    };
    const auto& list = parameters_.list();
    const auto it = std::find_if(list.begin(), list.end(), bad);
    if (it != list.end()) found = "the gradient of " + name_of(it->weight);
  }
  optimizer_.drop_gradients();
  return found;
}

const std::string& Stepper::name_of(const Weight& weight) const {
  return parameters_.list()[static_cast<size_t>(weight.slot)].tensors.front();
}

}  // namespace hone::train
