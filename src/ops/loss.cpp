#include "ops/loss.h"

#include "base/error.h"
#include "kernels/cpu/loss.h"
#include "plan/execution.h"

namespace hone::ops {
namespace {

struct Loss {
  LossInputs in;
  LossOptions options;
  Value total;
  std::optional<Value> dlogits;

  template <typename T>
  void run(const Frame& frame) const {
    const int64_t n = frame.rows(in.logits);
    const T* logits = frame.data<const T>(in.logits);
    const auto* scale = frame.data<const double>(in.scale);
    const kernels::LossScale how{scale[0] / options.weight, scale[1]};
    const kernels::LossOutputs<T> out{nullptr, frame.data<double>(total),
                                      dlogits ? frame.data<T>(*dlogits) : nullptr};
    const std::vector<T> classes(options.class_weights.begin(), options.class_weights.end());
    const std::vector<T> positives(options.positive_weights.begin(),
                                   options.positive_weights.end());
    switch (options.kind) {
      case LossKind::cross_entropy:
        return kernels::cross_entropy<T>(
            logits, frame.data<const int32_t>(in.labels), n, in.logits.width,
            {classes.empty() ? nullptr : classes.data(), static_cast<T>(options.label_smoothing)},
            how, out);
      case LossKind::squared_error:
        return kernels::squared_error<T>(logits, frame.data<const T>(in.labels), n, in.logits.width,
                                         how, out);
      case LossKind::binary_cross_entropy:
        return kernels::binary_cross_entropy<T>(
            logits, frame.data<const T>(in.labels), n, in.logits.width,
            positives.empty() ? nullptr : positives.data(), how, out);
    }
  }
};

}  // namespace

Value loss(Tape& tape, const LossInputs& inputs, const LossOptions& options) {
  Plan& plan = tape.plan();
  Loss op{inputs, options, plan.temporary(DType::f64, Axis::one, 1), std::nullopt};
  Step step{"loss", {inputs.logits, inputs.labels, inputs.scale}, {op.total}, {}};
  if (tape.needs_gradient(inputs.logits)) {
    op.dlogits = plan.temporary(inputs.logits.dtype, inputs.logits.rows, inputs.logits.width);
    step.writes.push_back(*op.dlogits);
    tape.set_gradient(inputs.logits, *op.dlogits);
  }
  step.run = [op](const Frame& frame) {
    if (op.in.logits.dtype == DType::f64) return op.run<double>(frame);
    op.run<float>(frame);
  };
  plan.add(std::move(step));
  plan.keep(op.total);
  return op.total;
}

}  // namespace hone::ops
