#include "ops/batch_norm.h"

#include "base/error.h"
#include "kernels/cpu/batch_norm.h"
#include "ops/accumulate.h"
#include "ops/add_relu.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "ops/shared_norms.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct BatchNorm {
  Value x;
  BatchNormParameters norm;
  bool frozen;
  Value y;
  /// The batch's mean and 1 / sqrt(variance + eps), [1, width] each; kept for the backward pass.
  std::optional<std::pair<Value, Value>> statistics;

  template <typename T>
  void run(const Frame& frame) const {
    using Parameter = kernels::Accumulator<T>;
    kernels::BatchNorm<T> args{};
    args.weight = frame.weight<Parameter>(norm.weight);
    args.bias = frame.weight<Parameter>(norm.bias);
    args.running_mean = const_cast<Parameter*>(frame.weight<Parameter>(norm.running_mean));
    args.running_variance = const_cast<Parameter*>(frame.weight<Parameter>(norm.running_variance));
    args.eps = norm.eps;
    args.momentum = norm.momentum;
    args.frozen = frozen;
    const T* in = frame.data<const T>(x);
    T* out = frame.data<T>(y);
    if (!statistics) {
      return kernels::batch_norm_infer<T>(args, in, frame.rows(x), x.width, out, frame.pool());
    }
    kernels::batch_norm_train<T>(
        args, in, frame.rows(x), x.width, out, frame.data<Parameter>(statistics->first),
        frame.data<Parameter>(statistics->second), frame.workspace(), frame.pool(), norm_sums());
  }

  void emit(Plan& plan) const {
    Step step{"batch_norm", {x}, {y}, [op = *this](const Frame& frame) {
                by_dtype(op.x.dtype, [&]<typename T>(T) { op.run<T>(frame); });
              }};
    step.weights = {norm.weight, norm.bias};
    const std::vector<Weight> running = {norm.running_mean, norm.running_variance};
    if (statistics) {
      step.writes.insert(step.writes.end(), {statistics->first, statistics->second});
      auto& touched = frozen ? step.weights : step.state;
      touched.insert(touched.end(), running.begin(), running.end());
      step.workspace = [width = x.width, rows = x.rows](const Extents& e, int) {
        return kernels::batch_norm_workspace(e[rows], width);
      };
    } else {
      step.weights.insert(step.weights.end(), running.begin(), running.end());
    }
    plan.add(std::move(step));
  }

  Value emit_backward(Tape& tape, Value dy) const {
    Plan& plan = tape.plan();
    const Value dx = plan.temporary(x.dtype, x.rows, x.width);
    const auto [mean, rstd] = *statistics;
    Step step{"batch_norm_backward", {dy, x, mean, rstd}, {dx}, {}};
    step.weights = {norm.weight};
    step.gradients = tape.trained({norm.weight, norm.bias});
    step.workspace = [width = x.width, rows = x.rows](const Extents& e, int) {
      return kernels::batch_norm_workspace(e[rows], width);
    };
    step.run = [op = *this, dy, dx](const Frame& frame) {
      by_dtype(op.x.dtype, [&]<typename T>(T) { op.run_backward<T>(frame, dy, dx); });
    };
    plan.add(std::move(step));
    return dx;
  }

  template <typename T>
  void run_backward(const Frame& frame, Value dy, Value dx) const {
    using Parameter = kernels::Accumulator<T>;
    kernels::batch_norm_backward<T>(frozen, frame.data<const T>(dy), frame.data<const T>(x),
                                    frame.data<const Parameter>(statistics->first),
                                    frame.data<const Parameter>(statistics->second),
                                    frame.weight<Parameter>(norm.weight), frame.rows(x), x.width,
                                    frame.data<T>(dx),
                                    static_cast<Parameter*>(frame.gradient(norm.weight)),
                                    static_cast<Parameter*>(frame.gradient(norm.bias)),
                                    frame.workspace(), frame.pool(), norm_sums());
  }
};

Value record(Tape& tape, Value x, const BatchNormParameters& norm, bool frozen) {
  Plan& plan = tape.plan();
  BatchNorm op{x, norm, frozen, plan.temporary(x.dtype, x.rows, x.width), {}};
  if (tape.training()) {
    const DType sums = accumulator_dtype(x.dtype);
    op.statistics = {plan.temporary(sums, Axis::one, x.width),
                     plan.temporary(sums, Axis::one, x.width)};
  }
  op.emit(plan);
  const bool trains = tape.trainable(norm.weight) || tape.trainable(norm.bias);
  if (!op.statistics || (!trains && !tape.needs_gradient(x))) return op.y;
  tape.on_backward(op.y, [&tape, op] {
    const Value dx = op.emit_backward(tape, *tape.gradient(op.y));
    if (tape.needs_gradient(op.x)) accumulate(tape, op.x, dx);
  });
  return op.y;
}

}  // namespace

Value batch_norm(Tape& tape, Value x, const BatchNormParameters& norm,
                 const BatchNormOptions& options) {
  if (options.residual && !options.relu) {
    fail(ErrorKind::internal, "a norm with a residual has a ReLU too");
  }
  if (tape.gpu()) return gpu::batch_norm(tape, x, norm, options);
  const Value y = record(tape, x, norm, options.frozen);
  if (options.residual) return add_relu(tape, y, *options.residual);
  return options.relu ? relu(tape, y) : y;
}

}  // namespace hone::ops
