#include "ops/accumulate.h"
#include "ops/gpu.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

/// A norm with what follows it, the residual and the ReLU, in one pass.
struct GpuBatchNorm {
  Value x;
  BatchNormParameters norm;
  BatchNormOptions options;
  Value y;
  /// The mean and 1 / sqrt(variance + eps) of the forward pass, [1, width] each; kept by training.
  std::optional<std::pair<Value, Value>> statistics;

  bool takes_batch() const { return statistics && !options.frozen; }

  void run(const Frame& frame) const {
    const GpuFrame& gpu = frame.gpu();
    cuda::BatchNorm args{x.dtype};
    args.statistics = takes_batch() ? cuda::NormStatistics::batch
                      : statistics  ? cuda::NormStatistics::frozen
                                    : cuda::NormStatistics::running;
    args.relu = options.relu;
    args.rows = frame.rows(x);
    args.width = x.width;
    args.x = frame.data<const void>(x);
    if (options.residual) args.residual = frame.data<const void>(*options.residual);
    args.y = frame.data<void>(y);
    args.weight = frame.weight<float>(norm.weight);
    args.bias = frame.weight<float>(norm.bias);
    args.eps = norm.eps;
    args.momentum = norm.momentum;
    if (takes_batch()) {
      args.running_mean = frame.state(norm.running_mean);
      args.running_variance = frame.state(norm.running_variance);
    } else {
      args.running_mean = const_cast<float*>(frame.weight<float>(norm.running_mean));
      args.running_variance = const_cast<float*>(frame.weight<float>(norm.running_variance));
    }
    if (statistics) {
      args.mean = frame.data<float>(statistics->first);
      args.rstd = frame.data<float>(statistics->second);
    }
    gpu.check(gpu.api->batch_norm(args, frame.workspace(), gpu.stream));
  }

  void emit(Plan& plan) const {
    Step step{"batch_norm", {x}, {y}, [op = *this](const Frame& frame) { op.run(frame); }};
    if (options.residual) step.reads.push_back(*options.residual);
    step.weights = {norm.weight, norm.bias};
    if (statistics) {
      step.writes.insert(step.writes.end(), {statistics->first, statistics->second});
    }
    auto& running = takes_batch() ? step.state : step.weights;
    running.insert(running.end(), {norm.running_mean, norm.running_variance});
    if (takes_batch()) add_workspace(step);
    plan.add(std::move(step));
  }

  void add_workspace(Step& step) const {
    step.workspace = [width = x.width, rows = x.rows](const Extents& e, int) {
      return cuda::kernel_api().batch_norm_workspace(e[rows], width);
    };
  }

  /// Emits the gradient of x; `dsum` is that of what the ReLU cut, where there was a residual.
  void emit_backward(Tape& tape, Value dy, std::optional<Value> dsum, Value dx) const {
    const auto [mean, rstd] = *statistics;
    Step step{"batch_norm_backward", {dy, x, mean, rstd}, {dx}, {}};
    if (dsum) {
      step.reads.push_back(y);
      step.writes.push_back(*dsum);
    }
    step.weights = {norm.weight, norm.bias};
    step.gradients = tape.trained({norm.weight, norm.bias});
    add_workspace(step);
    step.run = [op = *this, dy, dsum, dx](const Frame& frame) {
      op.run_backward(frame, dy, dsum, dx);
    };
    tape.plan().add(std::move(step));
  }

  void run_backward(const Frame& frame, Value dy, std::optional<Value> dsum, Value dx) const {
    cuda::BatchNormBackward args{x.dtype};
    args.frozen = options.frozen;
    args.relu = options.relu;
    args.rows = frame.rows(x);
    args.width = x.width;
    args.dy = frame.data<const void>(dy);
    args.x = frame.data<const void>(x);
    if (dsum) {
      args.y = frame.data<const void>(y);
      args.dsum = frame.data<void>(*dsum);
    }
    args.dx = frame.data<void>(dx);
    args.mean = frame.data<const float>(statistics->first);
    args.rstd = frame.data<const float>(statistics->second);
    args.weight = frame.weight<float>(norm.weight);
    args.bias = frame.weight<float>(norm.bias);
    args.dweight = static_cast<float*>(frame.gradient(norm.weight));
    args.dbias = static_cast<float*>(frame.gradient(norm.bias));
    const GpuFrame& gpu = frame.gpu();
    gpu.check(gpu.api->batch_norm_backward(args, frame.workspace(), gpu.stream));
  }
};

}  // namespace

Value batch_norm(Tape& tape, Value x, const BatchNormParameters& norm,
                 const BatchNormOptions& options) {
  Plan& plan = tape.plan();
  GpuBatchNorm op{x, norm, options, plan.temporary(x.dtype, x.rows, x.width), {}};
  if (tape.training()) {
    op.statistics = {plan.temporary(DType::f32, Axis::one, x.width),
                     plan.temporary(DType::f32, Axis::one, x.width)};
  }
  op.emit(plan);
  const bool trains = tape.trainable(norm.weight) || tape.trainable(norm.bias);
  const bool leads_on = options.residual && tape.needs_gradient(*options.residual);
  if (!op.statistics || (!trains && !leads_on && !tape.needs_gradient(x))) return op.y;
  tape.on_backward(op.y, [&tape, op, leads_on] {
    Plan& recorded = tape.plan();
    const Value dx = recorded.temporary(op.x.dtype, op.x.rows, op.x.width);
    std::optional<Value> dsum;
    if (op.options.residual) dsum = recorded.temporary(op.x.dtype, op.x.rows, op.x.width);
    op.emit_backward(tape, *tape.gradient(op.y), dsum, dx);
    if (tape.needs_gradient(op.x)) accumulate(tape, op.x, dx);
    if (leads_on) accumulate(tape, *op.options.residual, *dsum);
  });
  return op.y;
}

}  // namespace hone::ops::gpu
