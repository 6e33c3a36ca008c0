#include "ops/pooling2d.h"

#include <optional>

#include "base/error.h"
#include "kernels/cpu/pooling2d.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

/// Records a pooling whose backward pass reads nothing but the output's gradient.
template <typename Forward, typename Backward>
Value record_mean(Tape& tape, const char* name, Value x, Axis out_rows, const Forward& forward,
                  const Backward& backward) {
  const Value y = tape.plan().temporary(x.dtype, out_rows, x.width);
  tape.plan().add({name, {x}, {y}, [=](const Frame& frame) {
                     by_dtype(x.dtype, [&]<typename T>(T) {
                       forward(frame.data<const T>(x), frame.data<T>(y), frame);
                     });
                   }});
  if (!tape.needs_gradient(x)) return y;
  tape.on_backward(y, [=, &tape] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    tape.plan().add({"pool_backward", {dy}, {dx}, [=](const Frame& frame) {
                       by_dtype(x.dtype, [&]<typename T>(T) {
                         backward(frame.data<const T>(dy), frame.data<T>(dx), frame);
                       });
                     }});
    accumulate(tape, x, dx);
  });
  return y;
}

}  // namespace

Value max_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows) {
  if (window.kernel > kernels::kMostPooled) {
    fail(ErrorKind::internal, "a window of {} pixels is too large", window.kernel);
  }
  if (tape.gpu()) return gpu::max_pool(tape, x, window, out_rows);
  Plan& plan = tape.plan();
  const Value y = plan.temporary(x.dtype, out_rows, x.width);
  std::optional<Value> places;
  if (tape.needs_gradient(x)) places = plan.temporary(DType::u8, out_rows, x.width);
  Step step{"max_pool", {x}, {y}, [=](const Frame& frame) {
              by_dtype(x.dtype, [&]<typename T>(T) {
                kernels::max_pool<T>(window, frame.rows(x) / window.in_pixels(),
                                     frame.data<const T>(x), frame.data<T>(y),
                                     places ? frame.data<uint8_t>(*places) : nullptr, frame.pool());
              });
            }};
  if (places) step.writes.push_back(*places);
  plan.add(std::move(step));
  if (!places) return y;
  tape.on_backward(y, [=, &tape, from = *places] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    tape.plan().add({"max_pool_backward", {dy, from}, {dx}, [=](const Frame& frame) {
                       by_dtype(x.dtype, [&]<typename T>(T) {
                         kernels::max_pool_backward<T>(
                             window, frame.rows(x) / window.in_pixels(), frame.data<const T>(dy),
                             frame.data<const uint8_t>(from), frame.data<T>(dx), frame.pool());
                       });
                     }});
    accumulate(tape, x, dx);
  });
  return y;
}

Value average_pool(Tape& tape, Value x, const kernels::Window& window, Axis out_rows) {
  if (tape.gpu()) return gpu::average_pool(tape, x, window, out_rows);
  return record_mean(
      tape, "average_pool", x, out_rows,
      [=]<typename T>(const T* in, T* out, const Frame& frame) {
        kernels::average_pool<T>(window, frame.rows(x) / window.in_pixels(), in, out, frame.pool());
      },
      [=]<typename T>(const T* dy, T* dx, const Frame& frame) {
        kernels::average_pool_backward<T>(window, frame.rows(x) / window.in_pixels(), dy, dx,
                                          frame.pool());
      });
}

Value global_average(Tape& tape, Value x, int64_t pixels, Axis images) {
  if (tape.gpu()) return gpu::global_average(tape, x, pixels, images);
  return record_mean(
      tape, "global_average", x, images,
      [=]<typename T>(const T* in, T* out, const Frame& frame) {
        kernels::global_average<T>(frame.rows(x) / pixels, pixels, x.width, in, out, frame.pool());
      },
      [=]<typename T>(const T* dy, T* dx, const Frame& frame) {
        kernels::global_average_backward<T>(frame.rows(x) / pixels, pixels, x.width, dy, dx,
                                            frame.pool());
      });
}

}  // namespace hone::ops
