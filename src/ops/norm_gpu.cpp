#include "ops/norm_gpu.h"

#include "ops/fusion_gpu.h"

namespace hone::ops::gpu {

namespace cuda = kernels::cuda;

std::optional<NormKept> norm_kept(Tape& tape, Value y) {
  if (!tape.training()) return {};
  return NormKept{tape.plan().temporary(y.dtype, y.rows, y.width),
                  tape.plan().temporary(DType::f32, y.rows, 1)};
}

cuda::NormForward norm_forward(const Frame& frame, const NormParameters& norm, Value y,
                               const std::optional<NormKept>& kept) {
  cuda::NormForward args;
  args.dtype = y.dtype;
  args.rows = frame.rows(y);
  args.width = y.width;
  args.weight = frame.weight<float>(norm.weight);
  args.affine_bias = frame.weight<float>(norm.bias);
  args.eps = norm.eps;
  args.y = frame.data<void>(y);
  if (kept) {
    args.xhat = frame.data<void>(kept->xhat);
    args.rstd = frame.data<float>(kept->rstd);
  }
  return args;
}

std::pair<Value, Value> NormBackward::emit(Tape& tape, Value dy, bool again) const {
  Plan& plan = tape.plan();
  const Value dsum = plan.temporary(dy.dtype, dy.rows, dy.width);
  const Value dx = dropout.active() ? plan.temporary(dy.dtype, dy.rows, dy.width) : dsum;
  const bool sums =
      tape.trainable(norm.weight) || tape.trainable(norm.bias) || tape.trainable(bias);
  Step step{"layer_norm_backward", {dy, kept.xhat, kept.rstd}, {dsum}, {}};
  if (dropout.active()) step.writes.push_back(dx);
  if (again) step.writes.push_back(kept.xhat);
  dropout.add_reads(step.reads);
  output_dropout.add_reads(step.reads);
  std::optional<Value> parts;
  auto list = std::make_shared<cuda::RowSums>();
  if (sums) {
    parts = norm_sums_value(plan, dy.rows, dy.width);
    step.writes.push_back(*parts);
  }
  step.run = [=, op = *this](const Frame& frame) {
    cuda::NormBackward args;
    args.dtype = dy.dtype;
    args.rows = frame.rows(dy);
    args.width = dy.width;
    args.dy = frame.data<const void>(dy);
    args.output_dropout = dropout_at(frame, op.output_dropout);
    args.xhat = frame.data<const void>(op.kept.xhat);
    args.rstd = frame.data<const float>(op.kept.rstd);
    args.weight = frame.weight<float>(op.norm.weight);
    args.affine_bias = frame.weight<float>(op.norm.bias);
    args.y = again ? frame.data<void>(op.kept.xhat) : nullptr;
    args.dropout = dropout_at(frame, op.dropout);
    args.dsum = frame.data<void>(dsum);
    args.dx = op.dropout.active() ? frame.data<void>(dx) : nullptr;
    args.dweight = static_cast<float*>(frame.gradient(op.norm.weight));
    args.daffine_bias = static_cast<float*>(frame.gradient(op.norm.bias));
    args.dbias = static_cast<float*>(frame.gradient(op.bias));
    const GpuFrame& gpu = frame.gpu();
    gpu.check(gpu.api->layer_norm_backward(args, parts ? frame.data<void>(*parts) : nullptr,
                                           gpu.stream, parts ? list.get() : nullptr));
  };
  step.weights = {norm.weight, norm.bias};
  step.gradients = tape.trained({norm.weight, norm.bias, bias});
  const std::vector<Weight> summed = step.gradients;
  plan.add(std::move(step));
  if (parts) add_row_sums(tape, *parts, list, summed);
  return {dsum, dx};
}

}  // namespace hone::ops::gpu
