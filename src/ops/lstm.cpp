#include "ops/lstm.h"

#include "kernels/cpu/gemm_backward.h"
#include "kernels/cpu/layer_norm_backward.h"
#include "kernels/cpu/lstm.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Lstm {
  Value x;
  LstmWeights weights;
  Value offsets;
  Isa isa;
  Value h;
  /// What the backward pass reads: gates behind their functions, and cells.
  std::optional<std::pair<Value, Value>> kept;

  int64_t hidden() const { return weights.recurrent.width; }

  kernels::LstmShape shape(int64_t sequences, const void* weight) const {
    const Weight& w = weights.recurrent;
    return {nullptr, sequences, hidden(), {held_in(w.dtype), isa, w.rows, w.width, weight}};
  }
  kernels::LstmShape shape(const Frame& frame) const {
    kernels::LstmShape made = shape(frame.rows(offsets), frame.weight(weights.recurrent));
    made.offsets = frame.data<const int32_t>(offsets);
    return made;
  }
  std::function<size_t(const Extents&, int)> workspace() const {
    return [op = *this](const Extents& e, int threads) {
      return kernels::lstm_workspace(op.shape(e[op.offsets.rows], nullptr), threads);
    };
  }
  double flops(const Extents& e) const {
    return 2.0 * static_cast<double>(e[x.rows]) *
           static_cast<double>(weights.recurrent.rows * weights.recurrent.width);
  }

  template <typename T>
  void run(const Frame& frame) const {
    using Sum = kernels::Accumulator<T>;
    kernels::LstmForward<T> args;
    args.x = frame.data<const T>(x);
    args.bias = frame.weight<Sum>(weights.bias);
    args.h = frame.data<T>(h);
    if (kept) {
      args.gates = frame.data<T>(kept->first);
      args.cells = frame.data<Sum>(kept->second);
    }
    kernels::lstm_forward<T>(shape(frame), args, frame.workspace(), frame.pool());
  }

  void emit(Plan& plan) const {
    Step step{"lstm", {x, offsets}, {h}, [op = *this](const Frame& frame) {
                by_dtype(op.x.dtype, [&]<typename T>(T) { op.run<T>(frame); });
              }};
    if (kept) step.writes.insert(step.writes.end(), {kept->first, kept->second});
    step.workspace = workspace();
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weights.recurrent, weights.bias};
    plan.add(std::move(step));
  }

  template <typename T>
  void run_backward(const Frame& frame, Value dh, Value dx, Value before) const {
    kernels::LstmBackward<T> args;
    args.dh = frame.data<const T>(dh);
    args.h = frame.data<const T>(h);
    args.gates = frame.data<const T>(kept->first);
    args.cells = frame.data<const kernels::Accumulator<T>>(kept->second);
    args.dx = frame.data<T>(dx);
    args.before = frame.data<T>(before);
    kernels::lstm_backward<T>(shape(frame), args, frame.workspace(), frame.pool());
  }

  /// Emits the gradient of x, and h one step later.
  std::pair<Value, Value> emit_backward(Plan& plan, Value dh) const {
    const Value dx = plan.temporary(x.dtype, x.rows, x.width);
    const Value before = plan.temporary(h.dtype, h.rows, h.width);
    Step step{"lstm_backward",
              {dh, h, kept->first, kept->second, offsets},
              {dx, before},
              [=, op = *this](const Frame& frame) {
                by_dtype(op.x.dtype,
                         [&]<typename T>(T) { op.run_backward<T>(frame, dh, dx, before); });
              }};
    step.workspace = workspace();
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weights.recurrent};
    plan.add(std::move(step));
    return {dx, before};
  }

  void emit_weight_gradient(Tape& tape, Value dx, Value before) const {
    const auto args_of = [op = *this, dx](int64_t rows) {
      kernels::WeightGradientArgs args{};
      args.m = rows;
      args.n = op.weights.recurrent.rows;
      args.k = op.hidden();
      args.isa = op.isa;
      args.dtype = held_in(dx.dtype);
      args.lddy = dx.width;
      args.ldx = op.hidden();
      return args;
    };
    Step step{"lstm_weight_gradient", {dx, before}, {}, [=, op = *this](const Frame& frame) {
                kernels::WeightGradientArgs args = args_of(frame.rows(dx));
                args.dy = frame.data<const void>(dx);
                args.x = frame.data<const void>(before);
                args.dw = frame.gradient(op.weights.recurrent);
                args.dbias = frame.gradient(op.weights.bias);
                kernels::gemm_weight_gradient(args, frame.workspace(), frame.pool());
              }};
    step.workspace = [=](const Extents& e, int threads) {
      return kernels::gemm_weight_gradient_workspace(args_of(e[dx.rows]), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.gradients = tape.trained({weights.recurrent, weights.bias});
    tape.plan().add(std::move(step));
  }

  /// Emits the gradient of the bias beside a frozen weight.
  void emit_bias_gradient(Plan& plan, Value dx) const {
    Step step{"lstm_bias_gradient", {dx}, {}, [=, op = *this](const Frame& frame) {
                by_dtype(dx.dtype, [&]<typename T>(T) {
                  kernels::add_column_sums<T>(
                      frame.data<const T>(dx), dx.width, frame.rows(dx), dx.width,
                      static_cast<kernels::Accumulator<T>*>(frame.gradient(op.weights.bias)),
                      frame.workspace(), frame.pool());
                });
              }};
    step.workspace = [dx](const Extents& e, int) {
      return kernels::layer_norm_backward_workspace(e[dx.rows], dx.width);
    };
    step.gradients = {weights.bias};
    plan.add(std::move(step));
  }
};

}  // namespace

Value lstm(Tape& tape, Value x, const LstmWeights& weights, Value offsets, Isa isa) {
  if (tape.gpu()) return gpu::lstm(tape, x, weights, offsets);
  Plan& plan = tape.plan();
  const LstmWeights read{tape.in_dtype(weights.recurrent, x.dtype), weights.bias};
  const Value h = plan.temporary(x.dtype, x.rows, weights.recurrent.width);
  Lstm op{x, read, offsets, isa, h, std::nullopt};
  const bool trains = tape.trainable(weights.recurrent);
  const bool backward = trains || tape.trainable(weights.bias) || tape.needs_gradient(x);
  if (backward) {
    op.kept = {plan.temporary(x.dtype, x.rows, x.width),
               plan.temporary(accumulator_dtype(x.dtype), x.rows, h.width)};
  }
  op.emit(plan);
  if (!backward) return h;
  tape.on_backward(h, [&tape, op, trains] {
    const auto [dx, before] = op.emit_backward(tape.plan(), *tape.gradient(op.h));
    if (trains) {
      op.emit_weight_gradient(tape, dx, before);
    } else if (tape.trainable(op.weights.bias)) {
      op.emit_bias_gradient(tape.plan(), dx);
    }
    if (tape.needs_gradient(op.x)) accumulate(tape, op.x, dx);
  });
  return h;
}

}  // namespace hone::ops
