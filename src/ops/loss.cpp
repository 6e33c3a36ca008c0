#include "ops/loss.h"

#include "base/error.h"
#include "kernels/cpu/loss.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Loss {
  LossInputs in;
  LossOptions options;
  Value total;
  std::optional<Value> weights;  ///< weights of classes or positives
  std::optional<Value> dlogits;

  void run_gpu(const Frame& frame) const {
    kernels::cuda::Loss args;
    args.kind = static_cast<kernels::cuda::LossKind>(options.kind);
    args.rows = frame.rows(in.logits);
    args.classes = in.logits.width;
    args.logits = frame.data<const float>(in.logits);
    args.labels = frame.data<const int32_t>(in.labels);
    args.targets = frame.data<const float>(in.labels);
    if (weights) args.weights = frame.data<const float>(*weights);
    args.label_smoothing = options.label_smoothing;
    args.scale = frame.data<const kernels::cuda::LossScale>(in.scale);
    args.weight = options.weight;
    args.loss = frame.data<double>(total);
    if (dlogits) args.dlogits = frame.data<float>(*dlogits);
    frame.gpu().check(frame.gpu().api->loss(args, frame.gpu().stream));
  }

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
  Loss op{inputs, options, plan.temporary(DType::f64, Axis::one, 1), std::nullopt, std::nullopt};
  if (plan.gpu()) {
    const bool classes = options.kind == LossKind::cross_entropy;
    const auto& weights = classes ? options.class_weights : options.positive_weights;
    if (!weights.empty()) op.weights = plan.constant(weights);
  }
  Step step{"loss", {inputs.logits, inputs.labels, inputs.scale}, {op.total}, {}};
  if (tape.needs_gradient(inputs.logits)) {
    op.dlogits = plan.temporary(inputs.logits.dtype, inputs.logits.rows, inputs.logits.width);
    step.writes.push_back(*op.dlogits);
    tape.set_gradient(inputs.logits, *op.dlogits);
  }
  if (op.weights) step.reads.push_back(*op.weights);
  step.run = [op, gpu = plan.gpu()](const Frame& frame) {
    if (gpu) return op.run_gpu(frame);
    if (op.in.logits.dtype == DType::f64) return op.run<double>(frame);
    op.run<float>(frame);
  };
  plan.add(std::move(step));
  plan.keep(op.total);
  return op.total;
}

}  // namespace hone::ops
