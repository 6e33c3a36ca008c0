#include "models/pass.h"

namespace hone::models {

void Pass::bind(const data::Batch& batch, Runner& runner) const {
  for (size_t i = 0; i < inputs.size(); ++i) runner.bind(inputs[i], batch.data(i));
}

void declare_inputs(const data::BatchLayout& layout, Pass& pass) {
  for (const data::InputSpec& input : layout.inputs) {
    pass.inputs.push_back(pass.plan->input(input.dtype, input.axis, input.width, input.filler));
  }
}

ops::LossInputs loss_inputs(Value logits, const ops::LossOptions& loss, Pass& step) {
  if (loss.distill.weight > 0 && !loss.distill.self && !step.teacher) {
    step.teacher = step.plan->input(logits.dtype, logits.rows, logits.width);
  }
  return {logits, step.labels, step.scale, step.teacher};
}

}  // namespace hone::models
