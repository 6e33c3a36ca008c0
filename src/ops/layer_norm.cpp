#include "ops/layer_norm.h"

#include "kernels/cpu/layer_norm.h"
#include "kernels/cpu/layer_norm_backward.h"
#include "kernels/cpu/layer_norm_train.h"
#include "ops/accumulate.h"
#include "ops/by_dtype.h"
#include "ops/gpu.h"
#include "ops/quantize.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

template <typename T>
kernels::NormWeightsOf<kernels::Accumulator<T>> weights_of(const Frame& frame,
                                                           const NormParameters& norm) {
  using Parameter = kernels::Accumulator<T>;
  return {frame.weight<Parameter>(norm.weight), frame.weight<Parameter>(norm.bias), norm.eps};
}

Value infer(Plan& plan, Value x, const NormParameters& norm, const LayerNormOptions& options) {
  const Value y = plan.temporary(options.out, x.rows, x.width);
  const Value r = options.residual.value_or(x);
  const bool has_residual = options.residual.has_value();
  Step step{"layer_norm", {x, r}, {y}, [=](const Frame& frame) {
              by_float(x.dtype, [&]<typename In>(In) {
                by_float(r.dtype, [&]<typename Residual>(Residual) {
                  by_float(y.dtype, [&]<typename Out>(Out) {
                    kernels::layer_norm<In, Residual, Out>(
                        frame.data<const In>(x),
                        has_residual ? frame.data<const Residual>(r) : nullptr,
                        weights_of<float>(frame, norm), frame.rows(x), x.width, frame.data<Out>(y),
                        {}, frame.pool());
                  });
                });
              });
            }};
  step.weights = {norm.weight, norm.bias};
  plan.add(std::move(step));
  return y;
}

Value infer_quantized(Tape& tape, Value x, const NormParameters& norm,
                      const LayerNormOptions& options) {
  Plan& plan = tape.plan();
  const Value y = plan.temporary(options.out, x.rows, x.width);
  const Value q = quantized_value(plan, y);
  const Value r = options.residual.value_or(x);
  const bool has_residual = options.residual.has_value();
  if (x.dtype != DType::f32 || (has_residual && r.dtype != y.dtype)) {
    fail(ErrorKind::internal, "a quantised norm of {} and {}", dtype_name(x.dtype),
         dtype_name(r.dtype));
  }
  Step step{"layer_norm", {x, r}, {y, q}, [=](const Frame& frame) {
              by_float(y.dtype, [&]<typename T>(T) {
                kernels::layer_norm_quantized<T>(
                    frame.data<const float>(x), has_residual ? frame.data<const T>(r) : nullptr,
                    weights_of<float>(frame, norm), frame.rows(x), frame.data<T>(y),
                    {frame.data<uint8_t>(q), y.width}, frame.pool());
              });
            }};
  step.weights = {norm.weight, norm.bias};
  plan.add(std::move(step));
  tape.annotate<Quantized>(y).bytes = q;
  return y;
}

/// Calls body with (In, T) for which layer_norm_train exists: T is y's, In is T's or float.
template <typename Body>
void by_train_types(DType in, DType out, const Body& body) {
  by_dtype(out, [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, bf16>) {
      by_float(in, [&]<typename In>(In) { body(In{}, T{}); });
    } else {
      body(T{}, T{});
    }
  });
}

Value emit_train(Plan& plan, Value x, const NormParameters& norm, const LayerNormOptions& options,
                 const NormalizedRows& kept) {
  // fp16's xhat is rounded behind the step, and y has to be made of the rounded one.
  const bool apart = options.out == DType::f16;
  const Value y = plan.temporary(options.out, x.rows, apart ? 0 : x.width);
  Step step{"layer_norm", {x}, {y, kept.xhat, kept.rstd}, [=](const Frame& frame) {
              by_train_types(x.dtype, y.dtype, [&]<typename In, typename T>(In, T) {
                const T* residual =
                    options.residual ? frame.data<const T>(*options.residual) : nullptr;
                kernels::layer_norm_train<In, T, T>(
                    frame.data<const In>(x), residual, options.dropout.at(frame),
                    weights_of<T>(frame, norm), frame.rows(x), x.width,
                    {frame.data<T>(kept.xhat), frame.data<kernels::Accumulator<T>>(kept.rstd)},
                    apart ? nullptr : frame.data<T>(y), frame.workspace(), frame.pool());
              });
            }};
  if (options.residual) step.reads.push_back(*options.residual);
  options.dropout.add_reads(step.reads);
  step.workspace = [width = x.width](const Extents&, int threads) {
    return kernels::layer_norm_train_workspace(width, threads);
  };
  step.weights = {norm.weight, norm.bias};
  plan.add(std::move(step));
  return apart ? norm_affine(plan, kept.xhat, norm) : y;
}

}  // namespace

Value norm_affine(Plan& plan, Value xhat, const NormParameters& norm) {
  const Value y = plan.temporary(xhat.dtype, xhat.rows, xhat.width);
  Step step{"norm_affine", {xhat}, {y}, [=](const Frame& frame) {
              by_dtype(y.dtype, [&]<typename T>(T) {
                kernels::norm_affine<T, T>(frame.data<const T>(xhat), weights_of<T>(frame, norm),
                                           frame.rows(y), y.width, frame.data<T>(y), frame.pool());
              });
            }};
  step.weights = {norm.weight, norm.bias};
  plan.add(std::move(step));
  return y;
}

NormInputGradients norm_backward(Tape& tape, Value dy, const NormalizedRows& rows,
                                 const NormParameters& norm, const DropoutSite& dropout) {
  Plan& plan = tape.plan();
  const Value xhat = rows.xhat;
  const Value rstd = rows.rstd;
  NormInputGradients out;
  out.sum = plan.temporary(xhat.dtype, xhat.rows, xhat.width);
  out.x = dropout.active() ? plan.temporary(xhat.dtype, xhat.rows, xhat.width) : out.sum;
  Step step{"layer_norm_backward", {dy, xhat, rstd}, {out.sum}, [=](const Frame& frame) {
              by_train_types(dy.dtype, xhat.dtype, [&]<typename Grad, typename T>(Grad, T) {
                using Parameter = kernels::Accumulator<T>;
                kernels::NormGradients<T> gradients{};
                gradients.sum = frame.data<T>(out.sum);
                gradients.x = dropout.active() ? frame.data<T>(out.x) : nullptr;
                gradients.weight = static_cast<Parameter*>(frame.gradient(norm.weight));
                gradients.bias = static_cast<Parameter*>(frame.gradient(norm.bias));
                kernels::layer_norm_backward<Grad, T>(
                    frame.data<const Grad>(dy), frame.data<const T>(xhat),
                    frame.data<const Parameter>(rstd), frame.weight<Parameter>(norm.weight),
                    frame.rows(xhat), xhat.width, dropout.at(frame), gradients, frame.workspace(),
                    frame.pool());
              });
            }};
  if (dropout.active()) step.writes.push_back(out.x);
  dropout.add_reads(step.reads);
  step.workspace = [xhat](const Extents& e, int) {
    return kernels::layer_norm_backward_workspace(e[xhat.rows], xhat.width);
  };
  step.weights = {norm.weight};
  step.gradients = tape.trained({norm.weight, norm.bias});
  plan.add(std::move(step));
  return out;
}

Value layer_norm(Tape& tape, Value x, const NormParameters& norm, const LayerNormOptions& options) {
  if (tape.gpu()) return gpu::layer_norm(tape, x, norm, options);
  if (options.bias.present()) fail(ErrorKind::internal, "a bias in a norm of the processor's");
  if (!tape.training()) {
    return options.quantized ? infer_quantized(tape, x, norm, options)
                             : infer(tape.plan(), x, norm, options);
  }
  Plan& plan = tape.plan();
  const NormalizedRows kept{plan.temporary(options.out, x.rows, x.width),
                            plan.temporary(accumulator_dtype(options.out), x.rows, 1)};
  const Value y = emit_train(plan, x, norm, options, kept);
  const bool residual = options.residual && tape.needs_gradient(*options.residual);
  if (!tape.needs_gradient(x) && !residual && !tape.trainable(norm.weight) &&
      !tape.trainable(norm.bias)) {
    return y;
  }
  tape.recompute(y, [&tape, kept, norm] { return norm_affine(tape.plan(), kept.xhat, norm); });
  tape.on_backward(y, [&tape, x, y, kept, norm, options, residual] {
    const NormInputGradients gradients =
        norm_backward(tape, *tape.gradient(y), kept, norm, options.dropout);
    if (residual) accumulate(tape, *options.residual, gradients.sum);
    if (tape.needs_gradient(x)) accumulate(tape, x, gradients.x);
  });
  return y;
}

}  // namespace hone::ops
