#include "train/stepper.h"

#include "base/clock.h"

namespace hone::train {

Stepper::Stepper(models::Encoder& encoder, const ops::LossOptions& loss,
                 optim::Optimizer& optimizer, ThreadPool& pool,
                 const models::TrainingOptions& options)
    : parameters_(encoder.parameters()),
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
  return *execution_.output<double>(step_.loss);
}

}  // namespace hone::train
