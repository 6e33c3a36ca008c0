#include "ops/scale.h"

#include "kernels/cpu/rows.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

void put(float x, float factor, float& out) { out = factor * x; }
void put(double x, float factor, double& out) { out = factor * x; }
void put(bf16 x, float factor, bf16& out) { out = to_bf16(factor * to_float(x)); }

Value emit(Plan& plan, Value x, float factor) {
  const Value y = plan.temporary(x.dtype, x.rows, x.width);
  plan.add({"scale", {x}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->scale(
                    x.dtype, frame.data<const void>(x), frame.rows(x) * x.width, factor,
                    frame.data<void>(y), frame.gpu().stream));
              }
              by_dtype(x.dtype, [&]<typename T>(T) {
                const T* in = frame.data<const T>(x);
                T* out = frame.data<T>(y);
                const int64_t width = x.width;
                kernels::for_row_ranges(frame.rows(x), width, frame.pool(),
                                        [&](int64_t begin, int64_t end) {
                                          for (int64_t i = begin * width; i < end * width; ++i) {
                                            put(in[i], factor, out[i]);
                                          }
                                        });
              });
            }});
  return y;
}

}  // namespace

Value scale(Tape& tape, Value x, float factor) {
  if (factor == 1) return x;
  const Value y = emit(tape.plan(), x, factor);
  if (!tape.needs_gradient(x)) return y;
  tape.recompute(y, [&tape, x, factor] { return emit(tape.plan(), tape.saved(x), factor); });
  tape.on_backward(y, [&tape, x, y, factor] {
    accumulate(tape, x, emit(tape.plan(), *tape.gradient(y), factor));
  });
  return y;
}

}  // namespace hone::ops
