#include "optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"
#include "optim/gpu_optimizer.h"

namespace hone::optim {
namespace {

Buffer zeros(size_t bytes) {
  Buffer buffer(bytes);
  if (bytes > 0) std::memset(buffer.data(), 0, bytes);
  return buffer;
}

}  // namespace

Optimizer::Optimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                     const OptimizerOptions& options)
    : parameters_(parameters), trainable_(std::move(trainable)), options_(options) {
  if (parameters.on_gpu()) {
    gpu_ = std::make_unique<GpuOptimizer>(parameters, trainable_, options);
    return;
  }
  int64_t count = 0;
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.weight.dtype != DType::f32) {
      fail(ErrorKind::internal, "an optimiser over weights that are not fp32");
    }
    offsets_.push_back(count);
    if (!trainable_[static_cast<size_t>(parameter.weight.slot)]) continue;
    const int64_t elements = parameters.elements(parameter.weight);
    ranges_.push_back({.begin = count,
                       .end = count + elements,
                       .decay = parameter.kind != nn::ParameterKind::vector,
                       .shift = parameters.offset(parameter.weight) - count});
    constexpr int64_t kLine = kAlignment / sizeof(float);
    count += (elements + kLine - 1) / kLine * kLine;
  }
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  gradients_ = zeros(bytes);
  if (options.kind == OptimizerKind::adamw || options.momentum > 0) first_moment_ = zeros(bytes);
  if (options.kind == OptimizerKind::adamw) second_moment_ = zeros(bytes);
  scratch_ = Buffer(kernels::sum_of_squares_workspace(count));
  for (const nn::Parameter& parameter : parameters.list()) {
    gradient_pointers_.push_back(part(gradients_, parameter.weight));
  }
}

Optimizer::~Optimizer() = default;

const std::vector<void*>& Optimizer::gradients() const {
  return gpu_ ? gpu_->gradients() : gradient_pointers_;
}

int64_t Optimizer::steps() const { return gpu_ ? gpu_->steps() : steps_; }

void Optimizer::set_steps(int64_t steps) {
  if (gpu_) return gpu_->set_steps(steps);
  steps_ = steps;
}

float* Optimizer::first_moment(const Weight& weight) {
  return gpu_ ? gpu_->first_moment(weight) : part(first_moment_, weight);
}

float* Optimizer::second_moment(const Weight& weight) {
  return gpu_ ? gpu_->second_moment(weight) : part(second_moment_, weight);
}

void Optimizer::fetch_moments() {
  if (gpu_) gpu_->fetch_moments();
}

void Optimizer::send_moments() {
  if (gpu_) gpu_->send_moments();
}

float* Optimizer::part(Buffer& array, const Weight& weight) const {
  const auto slot = static_cast<size_t>(weight.slot);
  return array.size() > 0 && trainable_[slot] ? array.as<float>() + offsets_[slot] : nullptr;
}

bool Optimizer::gradient_is_finite(const Weight& weight) const {
  if (gpu_) return gpu_->gradient_is_finite(weight);
  const auto* gradient =
      static_cast<const float*>(gradient_pointers_[static_cast<size_t>(weight.slot)]);
  if (!gradient) return true;
  return std::all_of(gradient, gradient + parameters_.elements(weight),
                     [](float each) { return std::isfinite(each); });
}

void Optimizer::drop_gradients() {
  if (gpu_) return gpu_->drop_gradients();
  if (gradients_.size() > 0) std::memset(gradients_.data(), 0, gradients_.size());
}

Optimizer::Ticket Optimizer::start_step(double learning_rate, ThreadPool& pool, double loss_scale) {
  if (gpu_) return {{}, gpu_->step(learning_rate, loss_scale)};
  return {step(learning_rate, pool, loss_scale), 0};
}

StepReport Optimizer::report(const Ticket& ticket) {
  return gpu_ ? gpu_->report(ticket.turn) : ticket.report;
}

StepReport Optimizer::step(double learning_rate, ThreadPool& pool, double loss_scale) {
  if (gpu_) return gpu_->report(gpu_->step(learning_rate, loss_scale));
  const auto count = static_cast<int64_t>(gradients_.size() / sizeof(float));
  auto* gradients = gradients_.as<float>();
  const double squares = kernels::sum_of_squares(gradients, count, scratch_.data(), pool);
  StepReport report;
  report.grad_norm = std::sqrt(squares) / loss_scale;
  if (!std::isfinite(squares)) {
    drop_gradients();
    report.skipped = true;
    return report;
  }
  ++steps_;
  const double clip = kernels::clip_coefficient(report.grad_norm, options_.max_grad_norm);
  const kernels::GradientUse use{static_cast<float>(clip / loss_scale), true};
  const kernels::ParameterRanges ranges{ranges_.data(), static_cast<int64_t>(ranges_.size())};
  if (options_.kind == OptimizerKind::adamw) {
    kernels::adamw(
        {learning_rate, options_.beta1, options_.beta2, options_.eps, options_.weight_decay,
         steps_},
        ranges, use,
        {parameters_.arena(), gradients, first_moment_.as<float>(), second_moment_.as<float>()},
        pool);
  } else {
    kernels::sgd({learning_rate, options_.momentum, options_.weight_decay}, ranges, use,
                 {parameters_.arena(), gradients,
                  first_moment_.size() ? first_moment_.as<float>() : nullptr},
                 pool);
  }
  parameters_.refresh_shadows(pool, &trainable_);
  return report;
}

}  // namespace hone::optim
