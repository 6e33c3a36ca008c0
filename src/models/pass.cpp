#include "models/pass.h"

#include "autograd/tape.h"
#include "ops/half.h"

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

void declare_labels(const ops::LossOptions& loss, Axis rows, Pass& step) {
  const bool classes = loss.kind == LossKind::cross_entropy;
  step.labels = step.plan->input(classes ? DType::i32 : step.output.dtype, rows,
                                 classes ? 1 : step.output.width, Filler::minus_one);
  step.scale = step.plan->input(DType::f64, Axis::one, 2);
}

void record_losses(Tape& tape, DType dtype, Pass& step, const std::function<void()>& add) {
  const size_t forward = step.plan->steps().size();
  step.plan->set_scope("loss");
  add();
  step.plan->keep(step.output);
  tape.backward();
  step.shadows = tape.shadows();
  step.set_slots = tape.set_slots();
  step.forward_steps = step.plan->prune(forward);
  if (dtype == DType::f16 && !step.plan->gpu()) ops::round_halves(*step.plan);
}

}  // namespace hone::models
