#include "base/error.h"
#include "ops/accumulate.h"
#include "ops/fusion_gpu.h"
#include "ops/norm_gpu.h"
#include "ops/quantize.h"

namespace hone::ops::gpu {

namespace cuda = kernels::cuda;

Value layer_norm(Tape& tape, Value x, const NormParameters& norm, const LayerNormOptions& options) {
  if (x.dtype != options.out || (options.residual && options.residual->dtype != x.dtype)) {
    fail(ErrorKind::internal, "a norm of several dtypes on a GPU");
  }
  Plan& plan = tape.plan();
  const Value y = plan.temporary(x.dtype, x.rows, x.width);
  const std::optional<NormKept> kept = norm_kept(tape, y);
  std::optional<Value> bytes;
  if (options.quantized) bytes = fp8_value(plan, y);
  Step step{"layer_norm", {x}, {y}, [=](const Frame& frame) {
              cuda::NormForward args = norm_forward(frame, norm, y, kept);
              if (bytes) {
                const Fp8Rows rows = fp8_rows(frame, *bytes, y);
                args.bytes = rows.bytes;
                args.scales = rows.scales;
              }
              args.x = frame.data<const void>(x);
              args.bias = frame.weight<float>(options.bias);
              if (options.residual) args.residual = frame.data<const void>(*options.residual);
              if (kept) args.dropout = dropout_at(frame, options.dropout);
              frame.gpu().check(frame.gpu().api->layer_norm(args, frame.gpu().stream));
            }};
  if (options.residual) step.reads.push_back(*options.residual);
  if (kept) {
    step.writes.insert(step.writes.end(), {kept->xhat, kept->rstd});
    options.dropout.add_reads(step.reads);
  }
  if (bytes) {
    step.writes.push_back(*bytes);
    tape.annotate<Quantized>(y).bytes = *bytes;
  }
  step.weights = {norm.weight, norm.bias, options.bias};
  plan.add(std::move(step));
  const bool residual = options.residual && tape.needs_gradient(*options.residual);
  if (!tape.needs_gradient(x) && !residual && !tape.trainable(norm.weight) &&
      !tape.trainable(norm.bias) && !tape.trainable(options.bias)) {
    return y;
  }
  tape.on_backward(y, [&tape, x, y, options, residual,
                       op = NormBackward{norm, *kept, options.bias, options.dropout, {}}] {
    const bool again = must_rematerialize(tape, y);
    const auto [dsum, dx] = op.emit(tape, *tape.gradient(y), again);
    if (again) rematerialized(tape, y, op.kept.xhat);
    if (residual) accumulate(tape, *options.residual, dsum);
    if (tape.needs_gradient(x)) accumulate(tape, x, dx);
  });
  set_rematerializable(tape, y);
  return y;
}

}  // namespace hone::ops::gpu
