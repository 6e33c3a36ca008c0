#include "optim/cpu_optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "kernels/cpu/grad_norm.h"
#include "kernels/cpu/sgd.h"
#include "optim/adafactor.h"

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
  const bool quantized = options.kind == OptimizerKind::adamw_8bit;
  for (const nn::Parameter& parameter : parameters.list()) {
    if (parameter.weight.dtype != DType::f32) {
      fail(ErrorKind::internal, "an optimiser over weights that are not fp32");
    }
    if (!trainable_[static_cast<size_t>(parameter.weight.slot)]) continue;
    const int64_t at = layout_.gradients()[static_cast<size_t>(parameter.weight.slot)].begin;
    StateLayout::Place place = {at, 0};
    size_t index = 0;
    if (quantized) {
      place = layout_.place(StateLayout::small_m, parameter.weight);
      index = place.count > 0 ? 0 : 1;
      if (index > 0) place = layout_.place(StateLayout::m_codes, parameter.weight);
    }
    ranges_[index].push_back({.begin = place.begin,
                              .end = place.begin + parameters.elements(parameter.weight),
                              .decay = !parameter.is_vector(),
                              .shift = parameters.offset(parameter.weight) - place.begin,
                              .gradient_shift = at - place.begin});
  }
  const size_t bytes = static_cast<size_t>(layout_.gradient_elements()) * sizeof(float);
  if (!memory) own_ = zeros(bytes);
  gradients_ = memory ? static_cast<float*>(memory(bytes)) : own_.as<float>();
  for (size_t kind = 0; kind < layout_.kinds().size(); ++kind) {
    state_.push_back(zeros(layout_.bytes(kind)));
  }
  scratch_ = Buffer(kernels::sum_of_squares_workspace(layout_.gradient_elements()));
  for (const nn::Parameter& parameter : parameters.list()) {
    gradient_pointers_.push_back(gradient(parameter.weight));
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

float* CpuOptimizer::gradient(const Weight& weight) const {
  const StateLayout::Place& place = layout_.gradients()[static_cast<size_t>(weight.slot)];
  return place.count > 0 ? gradients_ + place.begin : nullptr;
}

GradientArray CpuOptimizer::gradient_array() const {
  GradientArray array{gradients_, static_cast<size_t>(layout_.gradient_elements()) * sizeof(float)};
  array.offsets = layout_.gradient_offsets();
  return array;
}

bool CpuOptimizer::gradient_is_finite(const Weight& weight) const {
  const float* data = gradient(weight);
  return !data || all_finite(DType::f32, data, parameters_.elements(weight));
}

void CpuOptimizer::drop_gradients() {
  std::fill_n(gradients_, layout_.gradient_elements(), 0.f);
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
  const double squares =
      kernels::sum_of_squares(gradients_, layout_.gradient_elements(), scratch_.data(), pool);
  StepReport report;
  report.grad_norm = std::sqrt(squares) / loss_scale;
  if (!std::isfinite(squares)) {
    drop_gradients();
    report.skipped = true;
    return report;
  }
  ++steps_;
  const double clip = kernels::clip_coefficient(report.grad_norm, options_.max_grad_norm);
  apply(learning_rate, {static_cast<float>(clip / loss_scale), true}, pool);
  std::fill(marks_.begin(), marks_.end(), uint8_t{0});
  parameters_.refresh(pool, &trainable_);
  return report;
}

kernels::ParameterRanges CpuOptimizer::ranges(size_t index) const {
  return {ranges_[index].data(), std::ssize(ranges_[index])};
}

void CpuOptimizer::apply(double learning_rate, const kernels::GradientUse& use, ThreadPool& pool) {
  const kernels::AdamW adamw{learning_rate, options_.beta1,        options_.beta2,
                             options_.eps,  options_.weight_decay, steps_};
  float* parameters = parameters_.arena();
  switch (options_.kind) {
    case OptimizerKind::adamw:
      return kernels::adamw(adamw, ranges(0), use,
                            {parameters, gradients_, state_[0].as<float>(), state_[1].as<float>()},
                            pool);
    case OptimizerKind::sgd:
      return kernels::sgd(
          {learning_rate, options_.momentum, options_.weight_decay, options_.nesterov}, ranges(0),
          use, {parameters, gradients_, state_.empty() ? nullptr : state_[0].as<float>()}, pool);
    case OptimizerKind::adamw_8bit:
      return apply_8bit(adamw, use, pool);
    case OptimizerKind::adafactor:
      return apply_adafactor(learning_rate, use, pool);
  }
}

void CpuOptimizer::apply_8bit(const kernels::AdamW& options, const kernels::GradientUse& use,
                              ThreadPool& pool) {
  using Kinds = StateLayout;
  float* parameters = parameters_.arena();
  kernels::adamw(options, ranges(0), use,
                 {parameters, gradients_, state_[Kinds::small_m].as<float>(),
                  state_[Kinds::small_v].as<float>()},
                 pool);
  const auto moments = [&](size_t codes, size_t scales) {
    return kernels::QuantizedMoments{state_[codes].as<uint8_t>(), state_[scales].as<float>()};
  };
  kernels::adamw_8bit(options, ranges(1), use,
                      {parameters, gradients_, moments(Kinds::m_codes, Kinds::m_scales),
                       moments(Kinds::v_codes, Kinds::v_scales)},
                      pool);
}

void CpuOptimizer::copy_gradient(const Weight& weight, float* out) const {
  std::copy_n(gradient(weight), parameters_.elements(weight), out);
}

void CpuOptimizer::copy_touched(const Weight& weight, uint8_t* out) const {
  std::copy_n(touched_[static_cast<size_t>(weight.slot)], weight.rows, out);
}

void CpuOptimizer::put_gradient(const Weight& weight, const float* data) {
  std::copy_n(data, parameters_.elements(weight), gradient(weight));
}

void CpuOptimizer::put_touched(const Weight& weight, uint8_t mark) {
  std::fill_n(touched_[static_cast<size_t>(weight.slot)], weight.rows, mark);
}

void CpuOptimizer::apply_adafactor(double learning_rate, const kernels::GradientUse& use,
                                   ThreadPool& pool) {
  const auto array = [&](size_t kind, const Weight& weight) {
    return static_cast<float*>(state(kind, weight));
  };
  for (const nn::Parameter& parameter : parameters_.list()) {
    const Weight& weight = parameter.weight;
    if (!trainable_[static_cast<size_t>(weight.slot)]) continue;
    const double decay = parameter.is_vector() ? 0 : options_.weight_decay;
    adafactor({.lr = learning_rate, .weight_decay = decay, .step = steps_}, parameter,
              parameters_.isa(), use,
              {parameters_.arena() + parameters_.offset(weight), gradient(weight),
               array(StateLayout::row_squares, weight), array(StateLayout::column_squares, weight),
               array(StateLayout::squares, weight)},
              pool);
  }
  std::fill_n(gradients_, layout_.gradient_elements(), 0.f);
}

}  // namespace hone::optim
