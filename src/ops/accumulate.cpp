#include "ops/accumulate.h"

#include "kernels/cpu/rows.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

float wide(float x) { return x; }
double wide(double x) { return x; }
float wide(bf16 x) { return to_float(x); }
void put(float x, float& out) { out = x; }
void put(double x, double& out) { out = x; }
void put(float x, bf16& out) { out = to_bf16(x); }

}  // namespace

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
                        put(wide(a[i]) + wide(b[i]), out[i]);
                      }
                    });
              });
            }});
  tape.set_gradient(value, sum);
}

}  // namespace hone::ops
