#include "ops/dropout.h"

#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

Value emit(Plan& plan, Value x, const DropoutSite& site) {
  const Value y = plan.temporary(x.dtype, x.rows, x.width);
  Step step{"dropout", {x}, {y}, [=, gpu = plan.gpu()](const Frame& frame) {
              if (gpu) {
                return frame.gpu().check(frame.gpu().api->apply_dropout(
                    gpu::dropout_at(frame, site), x.dtype, frame.data<const void>(x), frame.rows(x),
                    x.width, frame.data<void>(y), frame.gpu().stream));
              }
              by_dtype(x.dtype, [&]<typename T>(T) {
                kernels::apply_dropout<T>(site.at(frame), frame.data<const T>(x), frame.rows(x),
                                          x.width, frame.data<T>(y), frame.pool());
              });
            }};
  site.add_reads(step.reads);
  plan.add(std::move(step));
  return y;
}

}  // namespace

void DropoutSite::add_reads(std::vector<Value>& reads) const {
  if (active()) reads.insert(reads.end(), {random, samples, positions});
}

kernels::Dropout DropoutSite::at(const Frame& frame) const {
  if (!active()) return {};
  const auto* words = frame.data<const int64_t>(random);
  return {
      p,
      kernels::dropout_key(static_cast<uint64_t>(words[0]), static_cast<uint64_t>(words[1]), site),
      frame.data<const int64_t>(samples), frame.data<const int32_t>(positions)};
}

Value dropout(Tape& tape, Value x, const DropoutSite& site) {
  if (!tape.training() || !site.active()) return x;
  const Value y = emit(tape.plan(), x, site);
  if (!tape.needs_gradient(x)) return y;
  tape.recompute(y, [&tape, x, site] { return emit(tape.plan(), tape.saved(x), site); });
  tape.on_backward(
      y, [&tape, x, y, site] { accumulate(tape, x, emit(tape.plan(), *tape.gradient(y), site)); });
  return y;
}

}  // namespace hone::ops
