#include "ops/binary_logits.h"

#include "base/error.h"
#include "ops/accumulate.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

/// Copies the second column of `two` to `one`, or, where `widens`, the other way beside zeros.
template <typename T>
void copy_column(const T* from, int64_t rows, bool widens, T* to) {
  for (int64_t i = 0; i < rows; ++i) {
    if (widens) {
      to[2 * i] = 0;
      to[2 * i + 1] = from[i];
    } else {
      to[i] = from[2 * i + 1];
    }
  }
}

Value emit_column(Plan& plan, Value x, bool widens) {
  const Value y = plan.temporary(x.dtype, x.rows, widens ? 2 : 1);
  plan.add({"binary_logits", {x}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->binary_logits(
                    frame.data<const float>(x), frame.rows(x), widens, frame.data<float>(y),
                    frame.gpu().stream));
              }
              if (x.dtype == DType::f64) {
                return copy_column(frame.data<const double>(x), frame.rows(x), widens,
                                   frame.data<double>(y));
              }
              copy_column(frame.data<const float>(x), frame.rows(x), widens, frame.data<float>(y));
            }});
  return y;
}

}  // namespace

Value binary_logits(Tape& tape, Value z) {
  if (z.width != 1) fail(ErrorKind::internal, "binary logits of {} columns", z.width);
  const Value y = emit_column(tape.plan(), z, true);
  if (!tape.needs_gradient(z)) return y;
  tape.on_backward(y, [&tape, z, y] {
    accumulate(tape, z, emit_column(tape.plan(), *tape.gradient(y), false));
  });
  return y;
}

}  // namespace hone::ops
