#include "ops/padded_shortcut.h"

#include "kernels/cpu/padded_shortcut.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {

Value padded_shortcut(Tape& tape, Value x, const kernels::Window& window, Axis out_rows,
                      int64_t out) {
  const Value y = tape.plan().temporary(x.dtype, out_rows, out);
  tape.plan().add({"padded_shortcut", {x}, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
                     const int64_t images = frame.rows(x) / window.in_pixels();
                     if (gpu) {
                       const GpuFrame& device = frame.gpu();
                       return device.check(device.api->padded_shortcut(
                           {x.dtype, window, images, out}, frame.data<const void>(x),
                           frame.data<void>(y), device.stream));
                     }
                     by_dtype(x.dtype, [&]<typename T>(T) {
                       kernels::padded_shortcut<T>(window, images, out, frame.data<const T>(x),
                                                   frame.data<T>(y), frame.pool());
                     });
                   }});
  if (!tape.needs_gradient(x)) return y;
  tape.on_backward(y, [=, &tape] {
    const Value dy = *tape.gradient(y);
    const Value dx = tape.plan().temporary(x.dtype, x.rows, x.width);
    const bool gpu = tape.gpu();
    tape.plan().add({"padded_shortcut_backward", {dy}, {dx}, [=](const Frame& frame) {
                       const int64_t images = frame.rows(dx) / window.in_pixels();
                       if (gpu) {
                         const GpuFrame& device = frame.gpu();
                         return device.check(device.api->padded_shortcut_backward(
                             {x.dtype, window, images, out}, frame.data<const void>(dy),
                             frame.data<void>(dx), device.stream));
                       }
                       by_dtype(x.dtype, [&]<typename T>(T) {
                         kernels::padded_shortcut_backward<T>(window, images, out,
                                                              frame.data<const T>(dy),
                                                              frame.data<T>(dx), frame.pool());
                       });
                     }});
    accumulate(tape, x, dx);
  });
  return y;
}

}  // namespace hone::ops
