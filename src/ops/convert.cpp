#include "ops/convert.h"

#include "kernels/cpu/convert.h"
#include "ops/accumulate.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

Value emit(Plan& plan, Value x, DType dtype) {
  const Value y = plan.temporary(dtype, x.rows, x.width);
  plan.add({"convert", {x}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->convert(
                    x.dtype, frame.data<const void>(x), y.dtype, frame.data<void>(y),
                    frame.rows(x) * x.width, frame.gpu().stream));
              }
              kernels::convert(held_in(x.dtype), frame.data<const void>(x), held_in(y.dtype),
                               frame.data<void>(y), frame.rows(x) * x.width, frame.pool());
            }});
  return y;
}

}  // namespace

Value convert(Tape& tape, Value x, DType dtype) {
  if (x.dtype == dtype) return x;
  const Value y = emit(tape.plan(), x, dtype);
  if (!tape.needs_gradient(x)) return y;
  tape.recompute(y, [&tape, x, dtype] { return emit(tape.plan(), tape.saved(x), dtype); });
  tape.on_backward(
      y, [&tape, x, y] { accumulate(tape, x, emit(tape.plan(), *tape.gradient(y), x.dtype)); });
  return y;
}

}  // namespace hone::ops
