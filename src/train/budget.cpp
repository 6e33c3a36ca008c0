#include "train/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/available_memory.h"
#include "device/cuda.h"
#include "train/stepper.h"

namespace hone::train {

MemoryEstimate::TrainingPass::TrainingPass(const models::Model& model,
                                           const std::vector<bool>& trainable,
                                           const ops::LossOptions& loss,
                                           const models::TrainingOptions& options, bool planned,
                                           ThreadPool& pool)
    : pass(model.record_training(loss, trainable, options)),
      runner(pass.plan, {}, pool, {{}, {}, planned}) {
  const nn::Parameters& parameters = model.parameters();
  if (!options.set_gradients) return;
  // Gradients lie alike for every optimiser.
  const optim::StateLayout layout(parameters, trainable, optim::OptimizerKind::sgd, 0);
  runner.lend({nullptr, static_cast<size_t>(layout.gradient_elements()) * sizeof(float),
               layout.gradient_offsets()});
}

MemoryEstimate::MemoryEstimate(const models::Model& model, const data::Processor& processor,
                               const std::vector<bool>& trainable, const ops::LossOptions& loss,
                               const Options& options, ThreadPool& pool)
    : first_(model, trainable, loss, first_pass(options.step, model.parameters().target()),
             options.planned, pool),
      processor_(processor) {
  const nn::Parameters& parameters = model.parameters();
  fixed_.weights =
      parameters.bytes() + parameters.shadow_bytes(options.step.dtype, first_.pass.shadows);
  const optim::StateLayout layout(parameters, trainable, options.optimizer.kind,
                                  options.optimizer.momentum);
  fixed_.gradients = static_cast<uint64_t>(layout.gradient_elements()) * sizeof(float);
  fixed_.optimizer = layout.bytes();
  if (parameters.on_gpu()) {
    const bool copies = options.step.dtype != DType::f32;
    fixed_.weights = parameters.bytes() + (copies ? parameters.bytes() / 2 : 0);
    more_ =
        std::make_unique<TrainingPass>(model, trainable, loss, options.step, options.planned, pool);
  }
  if (options.average_decay > 0) fixed_.optimizer += parameters.bytes();
}

MemoryUse MemoryEstimate::of(const BatchSize& batch, int64_t accumulation) const {
  MemoryUse use = fixed_;
  const Extents extents = extents_of(batch, processor_);
  use.activations = first_.runner.bytes_for(extents);
  if (more_ && accumulation > 1) {
    use.activations = std::max<uint64_t>(use.activations, more_->runner.bytes_for(extents));
  }
  return use;
}

double MemoryEstimate::flops(const BatchSize& batch) const {
  return first_.pass.plan->flops(extents_of(batch, processor_));
}

Extents extents_of(const BatchSize& batch, const data::Processor& processor) {
  return processor.extents(batch.samples, batch.units, processor.max_units());
}

BatchSize largest_batch(const data::Sampler& sampler, int64_t epochs) {
  BatchSize most;
  std::vector<int64_t> samples;
  // Later epochs are shuffles of the same samples: a few show what a batch can be.
  for (data::BatchCursor cursor(sampler, {});
       cursor.position().epoch < std::min<int64_t>(epochs, 8);) {
    cursor.next(samples);
    most.samples = std::max(most.samples, std::ssize(samples));
    most.units = std::max(most.units, sampler.tokens(samples));
  }
  return most;
}

BatchSize largest_batch(const BatchOptions& options, int64_t max_units) {
  BatchSize most{options.train, INT32_MAX};  // a batch cannot have more tokens
  if (options.train > 0) most.units = std::min(most.units, options.train * max_units);
  if (options.max_tokens > 0) {
    most.units = std::min(most.units, std::max(options.max_tokens, max_units));
  }
  if (options.train == 0) most.samples = most.units;  // each sample has one unit then
  return most;
}

BatchSize share_of(const BatchSize& batch, int64_t devices, int64_t max_units) {
  if (devices == 1) return batch;
  return {(batch.samples + devices - 1) / devices,
          std::min(batch.units, batch.units / devices + max_units)};
}

void halve(BatchOptions& options, const BatchSize& largest) {
  options.train = (std::min(options.train, largest.samples) + 1) / 2;
  options.max_tokens = (std::min(options.max_tokens, largest.units) + 1) / 2;
  options.accumulation *= 2;
}

std::string step_limits(const BatchOptions& options) {
  std::string text;
  if (options.accumulation > 1) text = fmt::format("{} x ", options.accumulation);
  if (options.train > 0) text += fmt::format("{} samples", options.train);
  if (options.train > 0 && options.max_tokens > 0) text += ", at most ";
  if (options.max_tokens > 0) text += fmt::format("{} tokens", options.max_tokens);
  return text;
}

uint64_t available_memory(bool gpu) {
  if (gpu) {
    uint64_t free_bytes = 0, total = 0;
    cuda_check(cuda_api().memory_info(&free_bytes, &total), "asking for free memory");
    return free_bytes;
  }
  return available_host_memory();
}

}  // namespace hone::train
