#include "ops/attention.h"

#include <cmath>

#include "kernels/cpu/attention.h"
#include "ops/by_dtype.h"
#include "plan/execution.h"

namespace hone::ops {
namespace {

struct Attention {
  AttentionInputs in;
  RelativePositions relative;
  Value y;

  int64_t head_size() const { return in.q.width / in.heads; }

  void run(const Frame& frame) const {
    const kernels::AttentionShape shape{
        .q_offsets = frame.data<const int32_t>(in.q_offsets),
        .k_offsets = frame.data<const int32_t>(in.offsets),
        .sequences = frame.rows(in.offsets),
        .heads = in.heads,
        .head_size = head_size(),
        .scale = 1.f / std::sqrt(static_cast<float>(head_size())),
    };
    kernels::RelativePositions distances;
    if (relative.table.present()) {
      distances = {frame.weight<float>(relative.table), (relative.table.rows + 1) / 2,
                   relative.with_keys, frame.data<const int32_t>(in.q_places)};
    }
    by_dtype(in.q.dtype, [&]<typename T>(T) {
      const T* kv = frame.data<const T>(in.kv);
      kernels::attention<T, T>(shape, {frame.data<const T>(in.q), in.q.width}, {kv, in.kv.width},
                               {kv + in.q.width, in.kv.width}, distances, frame.data<T>(y), nullptr,
                               frame.workspace(), frame.pool());
    });
  }
};

}  // namespace

Value attention(Plan& plan, const AttentionInputs& inputs, const RelativePositions& relative) {
  const Value y = plan.temporary(inputs.q.dtype, inputs.q.rows, inputs.q.width);
  const Attention op{inputs, relative, y};
  Step step{"attention",
            {inputs.q, inputs.kv, inputs.q_offsets, inputs.offsets, inputs.q_places},
            {y},
            [op](const Frame& frame) { op.run(frame); }};
  step.workspace = [op](const Extents& extents, int threads) {
    return kernels::attention_workspace(extents[op.in.offsets.rows], op.head_size(), threads);
  };
  plan.add(std::move(step));
  return y;
}

}  // namespace hone::ops
