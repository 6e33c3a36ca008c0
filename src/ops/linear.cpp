#include "ops/linear.h"

#include "kernels/cpu/gemm.h"
#include "plan/execution.h"

namespace hone::ops {
namespace {

struct Linear {
  Value x;
  Weight weight;
  Weight bias;
  Isa isa;
  LinearOptions options;
  Value y;

  kernels::PackedMatrix matrix(const void* data) const {
    return {weight.dtype, isa, weight.rows, weight.width, data};
  }

  /// Everything but the pointers, which a shape does not need.
  kernels::GemmArgs shape(int64_t rows, const kernels::PackedMatrix* b) const {
    kernels::GemmArgs args{};
    args.m = rows;
    args.a_dtype = x.dtype;
    args.lda = x.width;
    args.b = b;
    args.activation = options.activation;
    if (options.residual) {
      args.residual_dtype = options.residual->dtype;
      args.ldr = options.residual->width;
    }
    args.c_dtype = y.dtype;
    args.ldc = y.width;
    return args;
  }

  void run(const Frame& frame) const {
    const kernels::PackedMatrix b = matrix(frame.weight(weight));
    kernels::GemmArgs args = shape(frame.rows(x), &b);
    args.a = frame.data<const void>(x);
    args.bias = frame.weight<float>(bias);
    if (options.residual) args.residual = frame.data<const void>(*options.residual);
    args.c = frame.data<void>(y);
    kernels::gemm(args, frame.workspace(), frame.pool());
  }

  size_t workspace(const Extents& extents, int threads) const {
    const kernels::PackedMatrix b = matrix(nullptr);
    return kernels::gemm_workspace(shape(extents[x.rows], &b), threads);
  }
};

}  // namespace

Value linear(Plan& plan, Value x, Weight weight, Weight bias, Isa isa,
             const LinearOptions& options) {
  const Value y = plan.temporary(options.out, x.rows, weight.rows);
  const Linear op{x, weight, bias, isa, options, y};
  Step step{"linear", {x}, {y}, [op](const Frame& frame) { op.run(frame); }};
  if (options.residual) step.reads.push_back(*options.residual);
  step.workspace = [op](const Extents& e, int threads) { return op.workspace(e, threads); };
  step.flops = [x, weight](const Extents& e) {
    return 2.0 * static_cast<double>(e[x.rows]) * static_cast<double>(weight.rows * weight.width);
  };
  plan.add(std::move(step));
  return y;
}

}  // namespace hone::ops
