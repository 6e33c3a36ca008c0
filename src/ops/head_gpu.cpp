#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {

namespace cuda = kernels::cuda;

Value head(Tape& tape, Value x, const Weight& weight, const Weight& bias) {
  Plan& plan = tape.plan();
  const Value y = plan.temporary(DType::f32, x.rows, weight.rows);
  const auto forward_args = [=](const Frame& frame) {
    cuda::HeadForward args;
    args.dtype = x.dtype;
    args.rows = frame.rows(x);
    args.width = weight.width;
    args.outputs = weight.rows;
    args.x = frame.data<const void>(x);
    args.weight = frame.weight<float>(weight);
    args.bias = frame.weight<float>(bias);
    args.logits = frame.data<float>(y);
    return args;
  };
  Step step{"head", {x}, {y}, [=](const Frame& frame) {
              frame.gpu().check(frame.gpu().api->head(forward_args(frame), frame.gpu().stream));
            }};
  step.weights = {weight, bias};
  plan.add(std::move(step));
  if (!tape.trainable(weight) && !tape.trainable(bias) && !tape.needs_gradient(x)) return y;
  tape.on_backward(y, [&tape, x, y, weight, bias, forward_args] {
    const Value dy = *tape.gradient(y);
    const bool wants_dx = tape.needs_gradient(x);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    Step back{"head_backward", {dy, x, y}, {dx}, [=](const Frame& frame) {
                cuda::HeadBackward args;
                args.dlogits = frame.data<const float>(dy);
                args.dx = wants_dx ? frame.data<void>(dx) : nullptr;
                args.dweight = static_cast<float*>(frame.gradient(weight));
                args.dbias = static_cast<float*>(frame.gradient(bias));
                frame.gpu().check(
                    frame.gpu().api->head_backward(forward_args(frame), args, frame.gpu().stream));
              }};
    back.weights = {weight, bias};
    back.gradients = tape.trained({weight, bias});
    tape.plan().add(std::move(back));
    if (wants_dx) accumulate(tape, x, dx);
  });
  return y;
}

}  // namespace hone::ops::gpu
