#include "train/stepper.h"

#include <algorithm>

#include "base/clock.h"

namespace hone::train {

Stepper::Stepper(models::Encoder& encoder, const ops::LossOptions& loss,
                 optim::Optimizer& optimizer, ThreadPool& pool,
                 const models::TrainingOptions& options)
    : parameters_(encoder.parameters()),
      optimizer_(optimizer),
      pool_(pool),
      step_(encoder.record_training(loss, optimizer.trainable(), options)),
      execution_(step_.plan, weights(options.dtype), optimizer.gradients(), pool) {}

std::span<const void* const> Stepper::weights(DType dtype) {
  if (dtype == DType::f32) return parameters_.pointers();
  parameters_.add_shadows(dtype, step_.shadows);
  return parameters_.shadow_pointers();
}

double Stepper::accumulate(const models::Batch& batch, const Labels& labels,
                           const StepState& state) {
  random_[0] = static_cast<int64_t>(state.seed);
  random_[1] = state.step;
  scale_[0] = state.count;
  scale_[1] = state.loss_scale;
  execution_.resize(batch.extents());
  batch.bind(step_.inputs, execution_);
  execution_.bind(step_.inputs.packing.random, random_);
  execution_.bind(step_.scale, scale_);
  execution_.bind(step_.labels, labels.targets.empty()
                                    ? static_cast<const void*>(labels.classes.data())
                                    : labels.targets.data());
  Stopwatch watch;
  parameters_.refresh_shadows(pool_);
  execution_.run(0, step_.forward_steps);
  forward_seconds_ += watch.restart();
  execution_.run(step_.forward_steps, step_.plan.steps().size());
  backward_seconds_ += watch.seconds();
  double loss = 0;
  for (const Value& share : step_.losses) loss += *execution_.output<double>(share);
  return loss;
}

std::string Stepper::first_non_finite() {
  optimizer_.drop_gradients();
  const Step* step = execution_.run_to_non_finite();
  std::string found;
  if (step) {
    found = step->scope + ": " + step->name;
    if (step->weight.present()) found += " of " + name_of(step->weight);
    if (step >= &step_.plan.steps()[step_.forward_steps]) found += ", in the backward pass";
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
