#include "cuda/roberta_step.h"

#include <algorithm>

#include "cuda/roberta_model.h"

namespace hone::bench {

RobertaStep::RobertaStep(const StepShape& shape, CudaStream& stream)
    : model_(std::make_unique<StepModel>(shape, stream)) {}
RobertaStep::~RobertaStep() = default;

const std::vector<StepOp>& RobertaStep::ops() const { return model_->ops; }

void RobertaStep::play() {
  for (const StepOp& op : model_->ops) op.run(model_->stream.handle());
}

void RobertaStep::play_named(const std::string& name) {
  for (const StepOp& op : model_->ops) {
    if (name == op.name) op.run(model_->stream.handle());
  }
}

void RobertaStep::tune() {
  StepModel& m = *model_;
  const auto same = [](const ProductShape& a, const ProductShape& b) {
    return a.kind == b.kind && a.m == b.m && a.n == b.n && a.k == b.k && a.add == b.add &&
           a.bias == b.bias && a.lda == b.lda && a.ldc == b.ldc;
  };
  std::vector<ProductShape> done;
  for (const auto& [shape, arrays] : m.products) {
    if (std::any_of(done.begin(), done.end(),
                    [&, &s = shape](const auto& d) { return same(d, s); }))
      continue;
    done.push_back(shape);
    ok(kernel_api().product_tune(shape, arrays, m.scratch, kProductScratch, m.stream.handle()),
       "tuning");
  }
}

double RobertaStep::loss() {
  double value = 0;
  model_->stream.copy(&value, model_->loss_value, sizeof value);
  model_->stream.synchronize();
  return value;
}

double RobertaStep::grad_norm() {
  OptimizerState state;
  model_->stream.copy(&state, model_->parameters.state, sizeof state);
  model_->stream.synchronize();
  return state.grad_norm;
}

std::vector<float> RobertaStep::logits() {
  std::vector<float> values(static_cast<size_t>(model_->sequences * kClasses));
  model_->stream.copy(values.data(), model_->logits, values.size() * sizeof(float));
  model_->stream.synchronize();
  return values;
}

std::vector<char> RobertaStep::parameter_bytes() {
  std::vector<char> bytes(static_cast<size_t>(model_->parameters.count) * 4);
  model_->stream.copy(bytes.data(), model_->parameters.p_, bytes.size());
  model_->stream.synchronize();
  return bytes;
}

size_t RobertaStep::device_bytes() const { return model_->arena.total(); }

}  // namespace hone::bench
