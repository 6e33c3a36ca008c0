#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

cuda::Pool pool_of(const Frame& frame, Value x, const kernels::Window& window) {
  return {x.dtype, window, frame.rows(x) / window.in_pixels()};
}

/// Records a pooling whose backward pass reads nothing but the output's gradient.
template <typename Forward, typename Backward>
Value record_mean(Tape& tape, const char* name, Value x, Axis out_rows, const Forward& forward,
                  const Backward& backward) {
  const Value y = tape.plan().temporary(x.dtype, out_rows, x.width);
  tape.plan().add({name, {x}, {y}, [=](const Frame& frame) {
                     frame.gpu().check(
                         forward(frame, frame.data<const void>(x), frame.data<void>(y)));
                   }});
  if (!tape.needs_gradient(x)) return y;
  tape.on_backward(y, [=, &tape] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    tape.plan().add({"pool_backward", {dy}, {dx}, [=](const Frame& frame) {
                       frame.gpu().check(
                           backward(frame, frame.data<const void>(dy), frame.data<void>(dx)));
                     }});
    accumulate(tape, x, dx);
  });
  return y;
}

}  // namespace

Value max_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows) {
  Plan& plan = tape.plan();
  const Value y = plan.temporary(x.dtype, out_rows, x.width);
  std::optional<Value> places;
  if (tape.needs_gradient(x)) places = plan.temporary(DType::u8, out_rows, x.width);
  Step step{"max_pool", {x}, {y}, [=](const Frame& frame) {
              const GpuFrame& gpu = frame.gpu();
              auto* to = places ? frame.data<uint8_t>(*places) : nullptr;
              gpu.check(gpu.api->max_pool(pool_of(frame, x, window), frame.data<const void>(x),
                                          frame.data<void>(y), to, gpu.stream));
            }};
  if (places) step.writes.push_back(*places);
  plan.add(std::move(step));
  if (!places) return y;
  tape.on_backward(y, [=, &tape, from = *places] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    tape.plan().add({"max_pool_backward", {dy, from}, {dx}, [=](const Frame& frame) {
                       const GpuFrame& gpu = frame.gpu();
                       gpu.check(gpu.api->max_pool_backward(
                           pool_of(frame, x, window), frame.data<const void>(dy),
                           frame.data<const uint8_t>(from), frame.data<void>(dx), gpu.stream));
                     }});
    accumulate(tape, x, dx);
  });
  return y;
}

Value average_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows) {
  return record_mean(
      tape, "average_pool", x, out_rows,
      [=](const Frame& frame, const void* in, void* out) {
        const GpuFrame& gpu = frame.gpu();
        return gpu.api->average_pool(pool_of(frame, x, window), in, out, gpu.stream);
      },
      [=](const Frame& frame, const void* dy, void* dx) {
        const GpuFrame& gpu = frame.gpu();
        return gpu.api->average_pool_backward(pool_of(frame, x, window), dy, dx, gpu.stream);
      });
}

Value global_average(Tape& tape, Value x, int64_t pixels, Axis images) {
  return record_mean(
      tape, "global_average", x, images,
      [=](const Frame& frame, const void* in, void* out) {
        return frame.gpu().api->global_average(x.dtype, frame.extents()[images], pixels, x.width,
                                               in, out, frame.gpu().stream);
      },
      [=](const Frame& frame, const void* dy, void* dx) {
        return frame.gpu().api->global_average_backward(x.dtype, frame.extents()[images], pixels,
                                                        x.width, dy, dx, frame.gpu().stream);
      });
}

}  // namespace hone::ops::gpu
