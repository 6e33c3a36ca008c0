#include "ops/convolution.h"

#include "base/error.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/gemm_backward.h"
#include "ops/gpu.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct Convolution {
  Value x;
  kernels::Window window;
  Weight weight;
  Weight bias;
  Isa isa;
  ConvolutionOptions options;
  Value y;
  kernels::Patches patches;

  kernels::PackedMatrix matrix(const void* data) const {
    return {held_in(weight.dtype), isa, weight.rows, weight.width, data};
  }
  const kernels::Patches* rows_of_x() const { return window.is_pointwise() ? nullptr : &patches; }
  double flops(const Extents& extents) const {
    return 2.0 * static_cast<double>(extents[y.rows]) *
           static_cast<double>(weight.rows * weight.width);
  }

  kernels::GemmArgs shape(int64_t rows, const kernels::PackedMatrix* b) const {
    kernels::GemmArgs args{};
    args.m = rows;
    args.a_dtype = held_in(x.dtype);
    args.lda = x.width;
    args.patches = rows_of_x();
    args.b = b;
    args.c_dtype = held_in(y.dtype);
    args.ldc = y.width;
    args.residual_dtype = held_in(y.dtype);
    args.ldr = y.width;
    args.cuts_sum = options.relu;
    return args;
  }

  void emit(Plan& plan) const {
    Step step{"convolution", {x}, {y}, [op = *this](const Frame& frame) {
                const kernels::PackedMatrix b = op.matrix(frame.weight(op.weight));
                kernels::GemmArgs args = op.shape(frame.rows(op.y), &b);
                args.a = frame.data<const void>(op.x);
                args.bias = frame.weight(op.bias);
                args.c = frame.data<void>(op.y);
                if (op.options.residual) {
                  args.residual = frame.data<const void>(*op.options.residual);
                }
                kernels::gemm(args, frame.workspace(), frame.pool());
              }};
    if (options.residual) step.reads.push_back(*options.residual);
    step.workspace = [op = *this](const Extents& e, int threads) {
      const kernels::PackedMatrix b = op.matrix(nullptr);
      return kernels::gemm_workspace(op.shape(e[op.y.rows], &b), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weight, bias};
    plan.add(std::move(step));
  }

  kernels::WeightGradientArgs weight_shape(int64_t rows) const {
    kernels::WeightGradientArgs args{};
    args.m = rows;
    args.n = weight.rows;
    args.k = weight.width;
    args.isa = isa;
    args.dtype = held_in(x.dtype);
    args.lddy = y.width;
    args.ldx = x.width;
    args.patches = rows_of_x();
    return args;
  }

  void emit_weight_gradient(Tape& tape, Value dy, Value input) const {
    Step step{"convolution_weight_gradient", {dy, input}, {}, [=, op = *this](const Frame& frame) {
                kernels::WeightGradientArgs args = op.weight_shape(frame.rows(dy));
                args.dy = frame.data<const void>(dy);
                args.x = frame.data<const void>(input);
                args.dw = frame.gradient(op.weight);
                kernels::gemm_weight_gradient(args, frame.workspace(), frame.pool());
              }};
    step.workspace = [op = *this](const Extents& e, int threads) {
      return kernels::gemm_weight_gradient_workspace(op.weight_shape(e[op.y.rows]), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.gradients = {weight};
    tape.plan().add(std::move(step));
  }

  kernels::ConvolutionGradientArgs input_shape(int64_t rows, const kernels::PackedMatrix* w) const {
    kernels::ConvolutionGradientArgs args{};
    args.window = window;
    args.images = rows / window.in_pixels();
    args.w = w;
    return args;
  }

  /// Emits the gradient of x: what there was, and what dy leads back to.
  Value emit_input_gradient(Plan& plan, Value dy, std::optional<Value> before) const {
    const Value dx = plan.temporary(x.dtype, x.rows, x.width);
    Step step{"convolution_input_gradient", {dy}, {dx}, [=, op = *this](const Frame& frame) {
                const kernels::PackedMatrix w = op.matrix(frame.weight(op.weight));
                kernels::ConvolutionGradientArgs args = op.input_shape(frame.rows(op.x), &w);
                args.dy = frame.data<const void>(dy);
                if (before) args.add = frame.data<const void>(*before);
                args.dx = frame.data<void>(dx);
                kernels::convolution_gradient(args, frame.workspace(), frame.pool());
              }};
    if (before) step.reads.push_back(*before);
    step.workspace = [op = *this](const Extents& e, int threads) {
      const kernels::PackedMatrix w = op.matrix(nullptr);
      return kernels::convolution_gradient_workspace(op.input_shape(e[op.x.rows], &w), threads);
    };
    step.flops = [op = *this](const Extents& e) { return op.flops(e); };
    step.weights = {weight};
    plan.add(std::move(step));
    return dx;
  }
};

}  // namespace

Value convolution(Tape& tape, Value x, const kernels::Window& window, Axis out_rows, Weight master,
                  Weight bias, Isa isa, const ConvolutionOptions& options) {
  if (tape.gpu()) return gpu::convolution(tape, x, window, out_rows, master, bias, options);
  const Weight weight = tape.in_dtype(master, x.dtype);
  const Value y = tape.plan().temporary(options.out, out_rows, weight.rows);
  const Convolution op{x, window, weight, bias, isa, options, y, kernels::patches_of(window)};
  op.emit(tape.plan());
  const bool trains = tape.trainable(weight);
  if (!trains && !tape.needs_gradient(x)) return y;
  if (bias.present() || options.relu || options.residual) {
    fail(ErrorKind::internal, "a convolution in training has neither bias nor residual nor ReLU");
  }
  tape.on_backward(y, [&tape, op, trains] {
    const Value dy = *tape.gradient(op.y);
    if (trains) op.emit_weight_gradient(tape, dy, tape.saved(op.x));
    if (tape.needs_gradient(op.x)) {
      tape.set_gradient(op.x, op.emit_input_gradient(tape.plan(), dy, tape.gradient(op.x)));
    }
  });
  return y;
}

}  // namespace hone::ops
