#include "ops/adaptive_loss.h"

#include "base/error.h"
#include "kernels/cpu/adaptive_loss.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct AdaptiveLoss {
  std::vector<Value> logits;  ///< the exits', then the last layer's
  LossInputs in;
  LossOptions options;
  Value total;
  std::vector<std::optional<Value>> dlogits;

  template <typename T>
  void run(const Frame& frame) const {
    std::vector<const T*> from;
    std::vector<T*> to;
    for (const Value& each : logits) from.push_back(frame.data<const T>(each));
    for (const auto& each : dlogits) to.push_back(each ? frame.data<T>(*each) : nullptr);
    const auto* scale = frame.data<const double>(in.scale);
    kernels::adaptive_loss<T>(
        {from, frame.data<const int32_t>(in.labels), frame.rows(in.logits), in.logits.width},
        {options.cost_weight, options.costs}, {scale[0], scale[1]}, frame.data<double>(total), to);
  }
};

}  // namespace

Value adaptive_loss(Tape& tape, const std::vector<Value>& exits, const LossInputs& inputs,
                    const LossOptions& options) {
  Plan& plan = tape.plan();
  if (plan.gpu()) {
    fail(ErrorKind::unsupported, "model.exits: adaptive exits are trained on a processor");
  }
  AdaptiveLoss op{exits, inputs, options, plan.temporary(DType::f64, Axis::one, 1), {}};
  op.logits.push_back(inputs.logits);
  Step step{"adaptive loss", {inputs.labels, inputs.scale}, {op.total}, {}};
  for (const Value& logits : op.logits) {
    step.reads.push_back(logits);
    op.dlogits.emplace_back();
    if (!tape.needs_gradient(logits)) continue;
    op.dlogits.back() = plan.temporary(logits.dtype, logits.rows, logits.width);
    step.writes.push_back(*op.dlogits.back());
    tape.set_gradient(logits, *op.dlogits.back());
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
