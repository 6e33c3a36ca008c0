#include "optim/optimizer.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"

namespace hone::optim {
namespace {

Buffer zeros(size_t bytes) {
  Buffer buffer(bytes);
  std::memset(buffer.data(), 0, bytes);
  return buffer;
}

}  // namespace

Optimizer::Optimizer(nn::Parameters& parameters, std::vector<bool> trainable,
                     const OptimizerOptions& options)
    : parameters_(parameters), trainable_(std::move(trainable)), options_(options) {
  const size_t bytes = parameters.bytes();
  gradients_ = zeros(bytes);
  if (options.kind == OptimizerKind::adamw || options.momentum > 0) first_moment_ = zeros(bytes);
  if (options.kind == OptimizerKind::adamw) second_moment_ = zeros(bytes);
  const auto count = static_cast<int64_t>(bytes / sizeof(float));
  scratch_ = Buffer(kernels::sum_of_squares_workspace(count));
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.weight.dtype != DType::f32) {
      fail(ErrorKind::internal, "an optimiser over weights that are not fp32");
    }
    const auto slot = static_cast<size_t>(parameter.weight.slot);
    const int64_t begin = parameters.offset(parameter.weight);
    const int64_t end = begin + parameters.elements(parameter.weight);
    gradient_pointers_.push_back(trainable_[slot] ? gradients_.as<float>() + begin : nullptr);
    if (!trainable_[slot]) continue;
    ranges_.push_back({begin, end, parameter.kind != nn::ParameterKind::vector});
  }
}

float* Optimizer::moment(Buffer& moments, const Weight& weight) const {
  if (moments.size() == 0 || !trainable_[static_cast<size_t>(weight.slot)]) return nullptr;
  return moments.as<float>() + parameters_.offset(weight);
}

StepReport Optimizer::step(double learning_rate, ThreadPool& pool, double loss_scale) {
  const auto count = static_cast<int64_t>(gradients_.size() / sizeof(float));
  auto* gradients = gradients_.as<float>();
  const double squares = kernels::sum_of_squares(gradients, count, scratch_.data(), pool);
  StepReport report;
  report.grad_norm = std::sqrt(squares) / loss_scale;
  if (!std::isfinite(squares)) {
    std::memset(gradients, 0, gradients_.size());
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
  return report;
}

}  // namespace hone::optim
