#include "ops/linear_int8.h"

#include "base/error.h"
#include "kernels/cpu/gemm.h"
#include "ops/quantize.h"
#include "plan/frame.h"

namespace hone::ops {
namespace {

struct LinearInt8 {
  Value q;
  Weight weight;
  Weight bias;
  Isa isa;
  kernels::Activation activation;
  Value y;

  kernels::PackedMatrix matrix(const void* data) const {
    return {weight.dtype, isa, weight.rows, weight.width, data};
  }

  kernels::GemmArgs shape(int64_t rows, const kernels::PackedMatrix* b) const {
    kernels::GemmArgs args{};
    args.m = rows;
    args.a_dtype = q.dtype;
    args.lda = q.width;
    args.b = b;
    args.activation = activation;
    args.c_dtype = y.dtype;
    args.ldc = y.width;
    return args;
  }

  void run(const Frame& frame) const {
    const kernels::PackedMatrix b = matrix(frame.weight(weight));
    kernels::GemmArgs args = shape(frame.rows(q), &b);
    const kernels::QuantizedRows rows{frame.data<uint8_t>(q), weight.width};
    args.a = rows.data;
    args.a_scales = rows.scales();
    args.lds = rows.scale_stride();
    args.bias = frame.weight<float>(bias);
    args.c = frame.data<void>(y);
    kernels::gemm(args, frame.workspace(), frame.pool());
  }
};

}  // namespace

Value linear_int8(Tape& tape, Value x, Weight weight, Weight bias, Isa isa,
                  const LinearOptions& options) {
  if (tape.training() || options.into) {
    fail(ErrorKind::unsupported, "int8 weights take no part in training or beside adapters");
  }
  const Value q = quantize(tape, x);
  const Value y = tape.plan().temporary(options.out, x.rows, weight.rows);
  const LinearInt8 op{q, weight, bias, isa, options.activation, y};
  Step step{"linear", {q}, {y}, [op](const Frame& frame) { op.run(frame); }};
  step.workspace = [op](const Extents& e, int threads) {
    const kernels::PackedMatrix b = op.matrix(nullptr);
    return kernels::gemm_workspace(op.shape(e[op.q.rows], &b), threads);
  };
  step.flops = [op](const Extents& e) {
    return 2.0 * static_cast<double>(e[op.q.rows]) *
           static_cast<double>(op.weight.rows * op.weight.width);
  };
  step.weights = {weight, bias};
  tape.plan().add(std::move(step));
  return y;
}

}  // namespace hone::ops
