#include "train/stepper.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "optim/gpu_optimizer.h"
#include "plan/gpu_runner.h"

namespace hone::train {

/// Losses on their way back from a GPU, and its clock.
struct Stepper::Gpu {
  /// Times of one batch: before, between and behind the two passes.
  struct Times {
    CudaEvent begin, middle, end;
    bool open = false;
  };

  PinnedBuffer losses{kInFlight * sizeof(double)};
  size_t next = 0;
  std::array<Times, 32> times;
  size_t turn = 0;
  double forward = 0, backward = 0;

  /// Takes the times of the oldest batches, all but `left`.
  void take(size_t left) {
    for (size_t i = 0; i + left < times.size(); ++i) {
      Times& t = times[(turn + i) % times.size()];
      if (!t.open) continue;
      t.end.synchronize();
      forward += 1e-3 * static_cast<double>(t.middle.since(t.begin));
      backward += 1e-3 * static_cast<double>(t.end.since(t.middle));
      t.open = false;
    }
  }
};

Stepper::Pass::Pass(Stepper& stepper, const models::TrainingOptions& options)
    : step(
          stepper.encoder_.record_training(stepper.loss_, stepper.optimizer_.trainable(), options)),
      execution(step.plan, stepper.parameters_.arrays_for(options.dtype, step.shadows, true),
                stepper.optimizer_.gradients(), stepper.pool_, stepper.arena_) {
  GpuRunner* runner = execution.gpu();
  if (!runner) return;
  runner->set_touched(stepper.optimizer_.gpu()->touched());
  if (options.set_gradients) execution.lend(stepper.optimizer_.gpu()->gradient_array());
  runner->cut(step.forward_steps);
}

models::TrainingOptions first_pass(models::TrainingOptions options, bool gpu) {
  options.set_gradients = gpu;
  return options;
}

Stepper::Stepper(models::Encoder& encoder, const ops::LossOptions& loss,
                 optim::Optimizer& optimizer, ThreadPool& pool,
                 const models::TrainingOptions& options)
    : encoder_(encoder),
      loss_(loss),
      options_(options),
      parameters_(encoder.parameters()),
      optimizer_(optimizer),
      pool_(pool),
      gpu_(parameters_.on_gpu() ? std::make_unique<Gpu>() : nullptr),
      pass_(*this, first_pass(options, gpu_ != nullptr)) {
  if (gpu_) optimizer.gpu()->set_gradients_set(pass_.step.set_slots);
}

Stepper::~Stepper() = default;

void Stepper::reserve(const Extents& extents, bool more) {
  if (!gpu_) return;
  pass_.execution.resize(extents);
  if (!more) return;
  if (!more_) more_ = std::make_unique<Pass>(*this, options_);
  more_->execution.resize(extents);
}

void Stepper::bind(Pass& pass, const models::Batch& batch, const Labels& labels,
                   const StepState& state) {
  random_[0] = static_cast<int64_t>(state.seed);
  random_[1] = state.step;
  scale_[0] = state.count;
  scale_[1] = state.loss_scale;
  Execution& execution = pass.execution;
  execution.resize(batch.extents());
  batch.bind(pass.step.inputs, execution);
  execution.bind(pass.step.inputs.packing.random, random_);
  execution.bind(pass.step.scale, scale_);
  execution.bind(pass.step.labels, labels.targets.empty()
                                       ? static_cast<const void*>(labels.classes.data())
                                       : labels.targets.data());
}

double Stepper::accumulate(const models::Batch& batch, const Labels& labels,
                           const StepState& state) {
  const Ticket ticket = start(batch, labels, state);
  if (gpu_) cuda_stream().synchronize();
  return loss(ticket);
}

Stepper::Ticket Stepper::start(const models::Batch& batch, const Labels& labels,
                               const StepState& state) {
  if (gpu_ && !state.first && !more_) more_ = std::make_unique<Pass>(*this, options_);
  Pass& pass = gpu_ && !state.first ? *more_ : pass_;
  last_ = &pass;
  bind(pass, batch, labels, state);
  Stopwatch watch;
  parameters_.refresh(pool_);
  if (gpu_) return start_on_gpu(pass);
  pass.execution.run(0, pass.step.forward_steps);
  forward_seconds_ += watch.restart();
  pass.execution.run(pass.step.forward_steps, pass.step.plan.steps().size());
  backward_seconds_ += watch.seconds();
  Ticket ticket;
  for (const Value& share : pass.step.losses) ticket.loss += *pass.execution.output<double>(share);
  return ticket;
}

Stepper::Ticket Stepper::start_on_gpu(Pass& pass) {
  CudaStream& stream = cuda_stream();
  Gpu::Times& times = gpu_->times[gpu_->turn];
  if (times.open) gpu_->take(gpu_->times.size() - 1);
  gpu_->turn = (gpu_->turn + 1) % gpu_->times.size();
  times.begin.record(stream);
  pass.execution.gpu()->run([&] { times.middle.record(stream); });
  times.end.record(stream);
  times.open = true;
  const std::vector<Value>& losses = pass.step.losses;
  if (gpu_->next + losses.size() > kInFlight) gpu_->next = 0;
  const Ticket ticket{0, gpu_->next, losses.size()};
  for (const Value& share : losses) {
    stream.copy(gpu_->losses.as<double>() + gpu_->next++, pass.execution.gpu()->address(share),
                sizeof(double));
  }
  return ticket;
}

double Stepper::loss(const Ticket& ticket) const {
  double sum = ticket.loss;
  for (size_t i = 0; i < ticket.count; ++i) sum += gpu_->losses.as<double>()[ticket.first + i];
  return sum;
}

double Stepper::forward_seconds() {
  if (gpu_) gpu_->take(0);
  return gpu_ ? gpu_->forward : forward_seconds_;
}

double Stepper::backward_seconds() {
  if (gpu_) gpu_->take(0);
  return gpu_ ? gpu_->backward : backward_seconds_;
}

std::string Stepper::first_non_finite() {
  optimizer_.drop_gradients();
  const Step* step = last_->execution.run_to_non_finite();
  std::string found;
  if (step) {
    found = step->scope + ": " + step->name;
    if (step->weight.present()) found += " of " + name_of(step->weight);
    if (step >= &last_->step.plan.steps()[last_->step.forward_steps])
      found += ", in the backward pass";
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
