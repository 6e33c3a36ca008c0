#include "ops/accumulate.h"

#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/rows.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {

void accumulate(Tape& tape, Value value, Value gradient) {
  const std::optional<Value> before = tape.gradient(value);
  if (!before) return tape.set_gradient(value, gradient);
  if (before->dtype != gradient.dtype) fail(ErrorKind::internal, "gradients of two dtypes");
  Plan& plan = tape.plan();
  const Value sum = plan.temporary(gradient.dtype, gradient.rows, gradient.width);
  if (plan.gpu()) {
    plan.add({"add", {*before, gradient}, {sum}, [=](const Frame& frame) {
                const GpuFrame& gpu = frame.gpu();
                gpu.check(gpu.api->add(
                    sum.dtype, frame.data<const void>(*before), frame.data<const void>(gradient),
                    frame.rows(sum) * sum.width, frame.data<void>(sum), gpu.stream));
              }});
    return tape.set_gradient(value, sum);
  }
  plan.add({"add", {*before, gradient}, {sum}, [=](const Frame& frame) {
              by_dtype(sum.dtype, [&]<typename T>(T) {
                const T* a = frame.data<const T>(*before);
                const T* b = frame.data<const T>(gradient);
                T* out = frame.data<T>(sum);
                kernels::for_row_ranges(
                    frame.rows(sum), sum.width, frame.pool(), [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin * sum.width; i < end * sum.width; ++i) {
                        kernels::store_rounded(
                            kernels::to_accumulator(a[i]) + kernels::to_accumulator(b[i]), out[i]);
                      }
                    });
              });
            }});
  tape.set_gradient(value, sum);
}

}  // namespace hone::ops
