#include "ops/pixels.h"

#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/rows.h"
#include "ops/by_dtype.h"
#include "plan/frame.h"

namespace hone::ops {

Value pixels(Tape& tape, Value bytes, Value levels, int64_t image_pixels, DType out) {
  const int64_t channels = bytes.width;
  const Value y = tape.plan().temporary(out, bytes.rows, channels);
  tape.plan().add({"pixels", {bytes, levels}, {y}, [=, gpu = tape.gpu()](const Frame& frame) {
                     const auto* in = frame.data<const uint8_t>(bytes);
                     const auto* all = frame.data<const float>(levels);
                     if (gpu) {
                       const GpuFrame& device = frame.gpu();
                       return device.check(device.api->pixels(out, in, all, frame.rows(y), channels,
                                                              image_pixels, frame.data<void>(y),
                                                              device.stream));
                     }
                     by_dtype(out, [&]<typename T>(T) {
                       T* to = frame.data<T>(y);
                       const auto run = [&](int64_t begin, int64_t end) {
                         for (int64_t row = begin; row < end; ++row) {
                           const float* own = all + row / image_pixels * 2 * channels;
                           for (int64_t c = 0; c < channels; ++c) {
                             const auto value = static_cast<float>(in[row * channels + c]);
                             kernels::store_rounded(value * own[c] + own[channels + c],
                                                    to[row * channels + c]);
                           }
                         }
                       };
                       kernels::for_row_ranges(frame.rows(y), channels, frame.pool(), run);
                     });
                   }});
  return y;
}

}  // namespace hone::ops
