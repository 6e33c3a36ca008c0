#include "ops/pooling.h"

#include <array>

#include "kernels/cpu/pooling.h"
#include "kernels/cpu/rows.h"
#include "plan/execution.h"

namespace hone::ops {

Value pool(Plan& plan, Value x, Value offsets, Pooling pooling) {
  static constexpr std::array kKernel = {kernels::Pooling::first, kernels::Pooling::mean,
                                         kernels::Pooling::max};
  const Value y = plan.temporary(DType::f32, Axis::sequences, x.width);
  plan.add({"pooling", {x, offsets}, {y}, [=](const Frame& frame) {
              kernels::pool_sequences<float>(kKernel[static_cast<size_t>(pooling)],
                                             frame.data<const float>(x),
                                             frame.data<const int32_t>(offsets), frame.rows(y),
                                             x.width, frame.data<float>(y), frame.pool());
            }});
  return y;
}

Value normalize_rows(Plan& plan, Value x) {
  const Value y = plan.temporary(DType::f32, x.rows, x.width);
  plan.add({"normalize", {x}, {y}, [=](const Frame& frame) {
              kernels::l2_normalize(frame.data<const float>(x), frame.rows(x), x.width,
                                    frame.data<float>(y), frame.pool());
            }});
  return y;
}

Value gather_rows(Plan& plan, Value x, Value indices) {
  const Value y = plan.temporary(x.dtype, indices.rows, x.width);
  const auto row_bytes = x.width * static_cast<int64_t>(dtype_size(x.dtype));
  plan.add({"gather", {x, indices}, {y}, [=](const Frame& frame) {
              kernels::gather_rows(frame.data<const void>(x), row_bytes,
                                   frame.data<const int32_t>(indices), frame.rows(indices),
                                   row_bytes, frame.data<void>(y), frame.pool());
            }});
  return y;
}

}  // namespace hone::ops
