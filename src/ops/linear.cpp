#include "ops/linear.h"

#include <cstddef>

#include "base/error.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemm_backward.h"
#include "kernels/cpu/layer_norm_backward.h"
#include "ops/activation.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "ops/linear_int8.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Linear {
  Value x;
  Weight weight;
  Weight bias;
  Isa isa;
  kernels::Activation activation;
  Value y;
  bool adds;       ///< whether the result is added to what y holds
  int64_t column;  ///< the column of y where the result starts

  kernels::PackedMatrix matrix(const void* data) const {
    return {held_in(weight.dtype), isa, weight.rows, weight.width, data};
  }

  /// Gives the op's columns of y, or of its gradient; null where there are no rows.
  template <typename T>
  T* columns(const Frame& frame, Value value) const {
    T* start = frame.data<T>(value);
    if (!start) return nullptr;
    return start + static_cast<size_t>(column) * dtype_size(held_in(value.dtype));
  }

  /// Gives everything but the pointers, which a shape does not need.
  kernels::GemmArgs shape(int64_t rows, const kernels::PackedMatrix* b) const {
    kernels::GemmArgs args{};
    args.m = rows;
    args.a_dtype = held_in(x.dtype);
    args.lda = x.width;
    args.b = b;
    args.activation = activation;
    args.c_dtype = held_in(y.dtype);
    args.ldc = y.width;
    args.residual_dtype = held_in(y.dtype);
    args.ldr = y.width;
    return args;
  }

  double flops(const Extents& extents) const {
    return 2.0 * static_cast<double>(extents[x.rows]) *
           static_cast<double>(weight.rows * weight.width);
  }

  void emit(Plan& plan) const {
    Step step{"linear", {x}, {y}, [op = *this](const Frame& frame) {
                const kernels::PackedMatrix b = op.matrix(frame.weight(op.weight));
                kernels::GemmArgs args = op.shape(frame.rows(op.x), &b);
                args.a = frame.data<const void>(op.x);
                args.bias = frame.weight<float>(op.bias);
                args.c = op.columns<std::byte>(frame, op.y);
                if (op.adds) args.residual = args.c;
                kernels::gemm(args, frame.workspace(), frame.pool());
              }};
    if (adds) step.reads.push_back(y);
    step.workspace = [op = *this](const Extents& e, int threads) {
      const kernels::PackedMatrix b = op.matrix(nullptr);
      return kernels::gemm_workspace(op.shape(e[op.x.rows], &b), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weight, bias};
    plan.add(std::move(step));
  }

  void emit_weight_gradient(Tape& tape, Value dy, Value input) const {
    const auto args_of = [op = *this, dy, input](int64_t rows) {
      kernels::WeightGradientArgs args{};
      args.m = rows;
      args.n = op.weight.rows;
      args.k = op.weight.width;
      args.isa = op.isa;
      args.dtype = held_in(dy.dtype);
      args.lddy = dy.width;
      args.ldx = input.width;
      return args;
    };
    Step step{"linear_weight_gradient", {dy, input}, {}, [=, op = *this](const Frame& frame) {
                kernels::WeightGradientArgs args = args_of(frame.rows(dy));
                args.dy = op.columns<const std::byte>(frame, dy);
                args.x = frame.data<const void>(input);
                args.dw = frame.gradient(op.weight);
                args.dbias = frame.gradient(op.bias);
                kernels::gemm_weight_gradient(args, frame.workspace(), frame.pool());
              }};
    step.workspace = [=](const Extents& e, int threads) {
      return kernels::gemm_weight_gradient_workspace(args_of(e[dy.rows]), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.gradients = tape.trained({weight, bias});
    tape.plan().add(std::move(step));
  }

  /// Emits the gradient of the bias beside a frozen weight.
  void emit_bias_gradient(Plan& plan, Value dy) const {
    Step step{"linear_bias_gradient", {dy}, {}, [=, op = *this](const Frame& frame) {
                by_dtype(dy.dtype, [&]<typename T>(T) {
                  kernels::add_column_sums<T>(
                      frame.data<const T>(dy) + op.column, dy.width, frame.rows(dy), op.weight.rows,
                      static_cast<kernels::Accumulator<T>*>(frame.gradient(op.bias)),
                      frame.workspace(), frame.pool());
                });
              }};
    step.workspace = [dy, width = weight.rows](const Extents& e, int) {
      return kernels::layer_norm_backward_workspace(e[dy.rows], width);
    };
    step.gradients = {bias};
    plan.add(std::move(step));
  }

  /// Emits the gradient of x: what there was, and dy weight.
  Value emit_input_gradient(Plan& plan, Value dy, std::optional<Value> before) const {
    const Value dx = plan.temporary(x.dtype, x.rows, x.width);
    const auto args_of = [dy, dx, before](int64_t rows, const kernels::PackedMatrix* w) {
      kernels::InputGradientArgs args{};
      args.m = rows;
      args.lddy = dy.width;
      args.w = w;
      if (before) {
        args.add_dtype = held_in(before->dtype);
        args.ldadd = before->width;
      }
      args.dx_dtype = held_in(dx.dtype);
      args.lddx = dx.width;
      return args;
    };
    Step step{"linear_input_gradient", {dy}, {dx}, [=, op = *this](const Frame& frame) {
                const kernels::PackedMatrix w = op.matrix(frame.weight(op.weight));
                kernels::InputGradientArgs args = args_of(frame.rows(dy), &w);
                args.dy = op.columns<const std::byte>(frame, dy);
                if (before) args.add = frame.data<const void>(*before);
                args.dx = frame.data<void>(dx);
                kernels::gemm_input_gradient(args, frame.workspace(), frame.pool());
              }};
    if (before) step.reads.push_back(*before);
    step.workspace = [=, op = *this](const Extents& e, int threads) {
      const kernels::PackedMatrix w = op.matrix(nullptr);
      return kernels::gemm_input_gradient_workspace(args_of(e[dy.rows], &w), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weight};
    plan.add(std::move(step));
    return dx;
  }
};

}  // namespace

Value linear(Tape& tape, Value x, Weight master, Weight bias, Isa isa,
             const LinearOptions& options) {
  if (tape.gpu()) return gpu::linear(tape, x, master, bias, options);
  if (master.dtype == DType::i8) return linear_int8(tape, x, master, bias, isa, options);
  const Weight weight = tape.in_dtype(master, x.dtype);
  if (tape.training() && options.activation != kernels::Activation::none) {
    const Value z = linear(tape, x, weight, bias, isa, {.out = options.out});
    return activate(tape, z, options.activation);
  }
  const bool adds = options.into.has_value();
  const Value y = adds ? *options.into : tape.plan().temporary(options.out, x.rows, weight.rows);
  const Linear op{x, weight, bias, isa, options.activation, y, adds, options.column};
  op.emit(tape.plan());
  const bool weights = tape.trainable(weight);
  const bool bias_alone = !weights && tape.trainable(bias);
  if (!weights && !bias_alone && !tape.needs_gradient(x)) return y;
  tape.on_backward(y, [&tape, op, weights, bias_alone] {
    const Value dy = *tape.gradient(op.y);
    if (weights) op.emit_weight_gradient(tape, dy, tape.saved(op.x));
    if (bias_alone) op.emit_bias_gradient(tape.plan(), dy);
    if (tape.needs_gradient(op.x)) {
      tape.set_gradient(op.x, op.emit_input_gradient(tape.plan(), dy, tape.gradient(op.x)));
    }
  });
  return y;
}

}  // namespace hone::ops
