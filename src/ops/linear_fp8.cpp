#include "base/error.h"
#include "ops/gpu.h"
#include "ops/quantize.h"

namespace hone::ops::gpu {
namespace {

namespace cuda = kernels::cuda;

/// Quantizes activation(x); x is the value before the activation.
Value quantize(Tape& tape, Value x, kernels::Activation activation) {
  const Value q = fp8_value(tape.plan(), x);
  tape.plan().add({"quantize", {x}, {q}, [=](const Frame& frame) {
                     const Fp8Rows rows = fp8_rows(frame, q, x);
                     cuda::QuantizeFp8 args;
                     args.dtype = x.dtype;
                     args.activation = activation_of(activation);
                     args.rows = frame.rows(x);
                     args.width = x.width;
                     args.x = frame.data<const void>(x);
                     args.bytes = rows.bytes;
                     args.scales = rows.scales;
                     frame.gpu().check(frame.gpu().api->quantize_fp8(args, frame.gpu().stream));
                   }});
  tape.annotate<Quantized>(x).bytes = q;
  return q;
}

}  // namespace

Value fp8_value(Plan& plan, Value x) {
  return plan.temporary([rows = x.rows, width = x.width](const Extents& extents) {
    return static_cast<size_t>(extents[rows]) * (static_cast<size_t>(width) + sizeof(float));
  });
}

Fp8Rows fp8_rows(const Frame& frame, Value bytes, Value x) {
  auto* start = frame.data<std::byte>(bytes);
  return {start, reinterpret_cast<float*>(start + frame.rows(x) * x.width)};
}

Value linear_fp8(Tape& tape, Value x, Weight weight, Weight bias, const LinearOptions& options) {
  if (tape.training() || options.into || x.dtype != DType::bf16) {
    fail(ErrorKind::unsupported, "fp8 weights take no part in training or beside adapters");
  }
  Plan& plan = tape.plan();
  const Quantized* known = tape.annotation<Quantized>(x);
  const Value q = known ? known->bytes : quantize(tape, x, kernels::Activation::none);
  const Value y = plan.temporary(DType::bf16, x.rows, weight.rows);
  const Weight added = tape.in_dtype(bias, DType::bf16);
  Step step{"linear", {q}, {y}, [=](const Frame& frame) {
              const GpuFrame& gpu = frame.gpu();
              const Fp8Rows rows = fp8_rows(frame, q, x);
              cuda::SmallLinear small;
              small.dtype = DType::f8;
              small.m = frame.rows(x);
              small.n = small.ldy = weight.rows;
              small.k = small.ldx = small.ldw = weight.width;
              small.x = rows.bytes;
              small.w = frame.weight(weight);
              small.bias = frame.weight<float>(bias);
              small.y = frame.data<void>(y);
              small.x_scales = rows.scales;
              small.w_scales = frame.scales(weight);
              if (!gpu.tuning && gpu.api->takes_linear_small(small)) {
                return gpu.check(gpu.api->linear_small(small, gpu.stream));
              }
              cuda::ProductShape s;
              s.dtype = DType::f8;
              s.out = DType::bf16;
              s.bias = added.present();
              s.m = frame.rows(x);
              s.n = s.ldc = weight.rows;
              s.k = s.lda = s.ldb = weight.width;
              product(frame, s,
                      {rows.bytes, frame.weight(weight), frame.weight(added), frame.data<void>(y),
                       rows.scales, frame.scales(weight)});
            }};
  step.workspace = [](const Extents&, int) { return kProductScratch; };
  step.flops = [=](const Extents& e) {
    return 2.0 * static_cast<double>(e[x.rows]) * static_cast<double>(weight.rows * weight.width);
  };
  step.weights = {weight, bias, added};
  step.product = true;
  plan.add(std::move(step));
  if (options.activation == kernels::Activation::none) return y;
  if (!options.bytes_alone) {
    fail(ErrorKind::internal, "an activation behind a product of fp8 gives bytes");
  }
  quantize(tape, y, options.activation);
  return y;
}

}  // namespace hone::ops::gpu
