#include "ops/activation.h"

#include "kernels/cpu/activation_backward.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

Value emit(Plan& plan, Value x, kernels::Activation activation) {
  const Value y = plan.temporary(x.dtype, x.rows, x.width);
  plan.add({"activation", {x}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) return gpu::activate(frame, activation, x, y);
              by_dtype(x.dtype, [&]<typename T>(T) {
                kernels::activate<T>(activation, frame.data<const T>(x), frame.rows(x) * x.width,
                                     frame.data<T>(y), frame.pool());
              });
            }});
  return y;
}

Value emit_backward(Plan& plan, Value dy, Value x, kernels::Activation activation) {
  const Value dx = plan.temporary(x.dtype, x.rows, x.width);
  plan.add({"activation_backward", {dy, x}, {dx}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) return gpu::activation_backward(frame, activation, dy, x, dx);
              by_dtype(x.dtype, [&]<typename T>(T) {
                kernels::activation_backward<T>(activation, frame.data<const T>(dy),
                                                frame.data<const T>(x), frame.rows(x) * x.width,
                                                frame.data<T>(dx), nullptr, frame.pool());
              });
            }});
  return dx;
}

}  // namespace

Value activate(Tape& tape, Value x, kernels::Activation activation) {
  const Value y = emit(tape.plan(), x, activation);
  if (!tape.needs_gradient(x)) return y;
  tape.recompute(y,
                 [&tape, x, activation] { return emit(tape.plan(), tape.saved(x), activation); });
  tape.on_backward(y, [&tape, x, y, activation] {
    const Value dx = emit_backward(tape.plan(), *tape.gradient(y), tape.saved(x), activation);
    accumulate(tape, x, dx);
  });
  return y;
}

}  // namespace hone::ops
