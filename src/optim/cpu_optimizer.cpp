#include "optim/cpu_optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"

namespace hone::optim {
namespace {

Buffer zeros(size_t bytes) {
  Buffer buffer(bytes);
  if (bytes > 0) std::memset(buffer.data(), 0, bytes);
  return buffer;
}

}  // namespace

CpuOptimizer::CpuOptimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                           const OptimizerOptions& options, const GradientMemory& memory)
    : Optimizer(parameters, std::move(trainable), options) {
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.weight.dtype != DType::f32) {
      fail(ErrorKind::internal, "an optimiser over weights that are not fp32");
    }
    offsets_.push_back(count_);
    if (!trainable_[static_cast<size_t>(parameter.weight.slot)]) continue;
    const int64_t elements = parameters.elements(parameter.weight);
    ranges_.push_back({.begin = count_,
                       .end = count_ + elements,
                       .decay = !parameter.is_vector(),
                       .shift = parameters.offset(parameter.weight) - count_});
    constexpr int64_t kLine = kAlignment / sizeof(float);
    count_ += (elements + kLine - 1) / kLine * kLine;
  }
  const size_t bytes = static_cast<size_t>(count_) * sizeof(float);
  if (!memory) own_ = zeros(bytes);
  gradients_ = memory ? static_cast<float*>(memory(bytes)) : own_.as<float>();
  if (options.kind == OptimizerKind::adamw || options.momentum > 0) first_moment_ = zeros(bytes);
  if (options.kind == OptimizerKind::adamw) second_moment_ = zeros(bytes);
  scratch_ = Buffer(kernels::sum_of_squares_workspace(count_));
  for (const nn::Parameter& parameter : parameters.list()) {
    gradient_pointers_.push_back(part(gradients_, parameter.weight));
  }
  mark_tables();
}

void CpuOptimizer::mark_tables() {
  const auto marked = [&](const nn::Parameter& parameter) {
    return parameter.kind == nn::ParameterKind::table &&
           trainable_[static_cast<size_t>(parameter.weight.slot)];
  };
  size_t rows = 0;
  for (const nn::Parameter& parameter : parameters_.list()) {
    if (marked(parameter)) rows += static_cast<size_t>(parameter.weight.rows);
  }
  marks_.resize(rows);
  uint8_t* at = marks_.data();
  for (const nn::Parameter& parameter : parameters_.list()) {
    touched_.push_back(marked(parameter) ? at : nullptr);
    if (marked(parameter)) at += parameter.weight.rows;
  }
}

float* CpuOptimizer::part(const float* array, const Weight& weight) const {
  const auto slot = static_cast<size_t>(weight.slot);
  return array && trainable_[slot] ? const_cast<float*>(array) + offsets_[slot] : nullptr;
}

GradientArray CpuOptimizer::gradient_array() const {
  GradientArray array{gradients_, static_cast<size_t>(count_) * sizeof(float), {}};
  for (const int64_t offset : offsets_) {
    array.offsets.push_back(static_cast<size_t>(offset) * sizeof(float));
  }
  return array;
}

bool CpuOptimizer::gradient_is_finite(const Weight& weight) const {
  const float* gradient = part(gradients_, weight);
  return !gradient || all_finite(DType::f32, gradient, parameters_.elements(weight));
}

void CpuOptimizer::drop_gradients() {
  if (count_ > 0) std::memset(gradients_, 0, static_cast<size_t>(count_) * sizeof(float));
  std::fill(marks_.begin(), marks_.end(), uint8_t{0});
}

Optimizer::Ticket CpuOptimizer::start_step(double learning_rate, ThreadPool& pool,
                                           double loss_scale) {
  const Stopwatch watch;
  const StepReport report = update(learning_rate, pool, loss_scale);
  seconds_ += watch.seconds();
  return {report, 0};
}

StepReport CpuOptimizer::update(double learning_rate, ThreadPool& pool, double loss_scale) {
  const double squares = kernels::sum_of_squares(gradients_, count_, scratch_.data(), pool);
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
        {parameters_.arena(), gradients_, first_moment_.as<float>(), second_moment_.as<float>()},
        pool);
  } else {
    kernels::sgd({learning_rate, options_.momentum, options_.weight_decay}, ranges, use,
                 {parameters_.arena(), gradients_,
                  first_moment_.size() ? first_moment_.as<float>() : nullptr},
                 pool);
  }
  std::fill(marks_.begin(), marks_.end(), uint8_t{0});
  parameters_.refresh(pool, &trainable_);
  return report;
}

void CpuOptimizer::copy_gradient(const Weight& weight, float* out) const {
  std::copy_n(part(gradients_, weight), parameters_.elements(weight), out);
}

void CpuOptimizer::copy_touched(const Weight& weight, uint8_t* out) const {
  std::copy_n(touched_[static_cast<size_t>(weight.slot)], weight.rows, out);
}

void CpuOptimizer::put_gradient(const Weight& weight, const float* data) {
  std::copy_n(data, parameters_.elements(weight), part(gradients_, weight));
}

void CpuOptimizer::put_touched(const Weight& weight, uint8_t mark) {
  std::fill_n(touched_[static_cast<size_t>(weight.slot)], weight.rows, mark);
}

}  // namespace hone::optim
