#include "ops/add_relu.h"

#include <optional>

#include "kernels/cpu/add_relu.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

Value emit(Plan& plan, Value a, std::optional<Value> b) {
  const Value y = plan.temporary(a.dtype, a.rows, a.width);
  Step step{"add_relu", {a}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                const GpuFrame& device = frame.gpu();
                return device.check(device.api->add_relu(
                    a.dtype, frame.data<const void>(a), b ? frame.data<const void>(*b) : nullptr,
                    frame.rows(a) * a.width, frame.data<void>(y), device.stream));
              }
              by_dtype(a.dtype, [&]<typename T>(T) {
                kernels::add_relu<T>(frame.data<const T>(a), b ? frame.data<const T>(*b) : nullptr,
                                     frame.rows(a) * a.width, frame.data<T>(y), frame.pool());
              });
            }};
  if (b) step.reads.push_back(*b);
  plan.add(std::move(step));
  return y;
}

Value emit_backward(Plan& plan, Value dy, Value y) {
  const Value dx = plan.temporary(y.dtype, y.rows, y.width);
  plan.add({"relu_backward", {dy, y}, {dx}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                const GpuFrame& device = frame.gpu();
                return device.check(device.api->relu_backward(
                    y.dtype, frame.data<const void>(dy), frame.data<const void>(y),
                    frame.rows(y) * y.width, frame.data<void>(dx), device.stream));
              }
              by_dtype(y.dtype, [&]<typename T>(T) {
                kernels::relu_backward<T>(frame.data<const T>(dy), frame.data<const T>(y),
                                          frame.rows(y) * y.width, frame.data<T>(dx), frame.pool());
              });
            }});
  return dx;
}

Value record(Tape& tape, Value a, std::optional<Value> b) {
  const Value y = emit(tape.plan(), a, b);
  const bool first = tape.needs_gradient(a), second = b && tape.needs_gradient(*b);
  if (!first && !second) return y;
  tape.on_backward(y, [=, &tape] {
    const Value dx = emit_backward(tape.plan(), *tape.gradient(y), tape.saved(y));
    if (first) accumulate(tape, a, dx);
    if (second) accumulate(tape, *b, dx);
  });
  return y;
}

}  // namespace

Value add_relu(Tape& tape, Value a, Value b) { return record(tape, a, b); }
Value relu(Tape& tape, Value x) { return record(tape, x, {}); }

}  // namespace hone::ops
