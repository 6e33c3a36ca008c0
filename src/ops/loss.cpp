#include "ops/loss.h"

#include "base/error.h"
#include "kernels/cpu/distill.h"
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
    args.kind = options.kind;
    args.rows = frame.rows(in.logits);
    args.classes = in.logits.width;
    args.logits = frame.data<const float>(in.logits);
    args.labels = frame.data<const int32_t>(in.labels);
    args.targets = frame.data<const float>(in.labels);
    if (weights) args.weights = frame.data<const float>(*weights);
    args.label_smoothing = options.label_smoothing;
    args.scale = frame.data<const kernels::cuda::LossScale>(in.scale);
    args.weight = options.weight;
    if (in.teacher) {
      args.teacher = frame.data<const float>(*in.teacher);
      args.teacher_weight = options.distill.weight;
      args.temperature = options.distill.temperature;
    }
    args.loss = frame.data<double>(total);
    if (dlogits) args.dlogits = frame.data<float>(*dlogits);
    frame.gpu().check(frame.gpu().api->loss(args, frame.gpu().stream));
  }

  template <typename T>
  void run(const Frame& frame) const {
    const int64_t n = frame.rows(in.logits);
    const T* logits = frame.data<const T>(in.logits);
    const auto* scale = frame.data<const double>(in.scale);
    const double share = in.teacher ? options.distill.weight : 0;
    const kernels::LossScale how{scale[0] / (options.weight * (1 - share)), scale[1]};
    const kernels::LossOutputs<T> out{nullptr, frame.data<double>(total),
                                      dlogits ? frame.data<T>(*dlogits) : nullptr};
    const std::vector<T> classes(options.class_weights.begin(), options.class_weights.end());
    const std::vector<T> positives(options.positive_weights.begin(),
                                   options.positive_weights.end());
    switch (options.kind) {
      case LossKind::cross_entropy:
        kernels::cross_entropy<T>(
            logits, frame.data<const int32_t>(in.labels), n, in.logits.width,
            {classes.empty() ? nullptr : classes.data(), static_cast<T>(options.label_smoothing)},
            how, out);
        break;
      case LossKind::soft_cross_entropy:
        kernels::soft_cross_entropy<T>(logits, frame.data<const T>(in.labels), n, in.logits.width,
                                       static_cast<T>(options.label_smoothing), how, out);
        break;
      case LossKind::squared_error:
        kernels::squared_error<T>(logits, frame.data<const T>(in.labels), n, in.logits.width, how,
                                  out);
        break;
      case LossKind::binary_cross_entropy:
        kernels::binary_cross_entropy<T>(logits, frame.data<const T>(in.labels), n, in.logits.width,
                                         positives.empty() ? nullptr : positives.data(), how, out);
        break;
    }
    if (!in.teacher) return;
    kernels::add_distillation<T>(logits, frame.data<const T>(*in.teacher), n, in.logits.width,
                                 {options.kind, options.distill.temperature},
                                 {scale[0] / (options.weight * share), scale[1]}, out);
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
  if (inputs.teacher) step.reads.push_back(*inputs.teacher);
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
