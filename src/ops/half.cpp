#include "ops/half.h"

#include "kernels/cpu/convert.h"
#include "plan/frame.h"

namespace hone::ops {

void round_halves(Plan& plan) {
  plan.on_write(DType::f16, [](const Frame& frame, Value value) {
    auto* data = frame.data<float>(value);
    kernels::round_to_f16(data, frame.rows(value) * value.width, data, frame.pool());
  });
}

}  // namespace hone::ops
