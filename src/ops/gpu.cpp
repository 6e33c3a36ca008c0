#include "ops/gpu.h"

namespace hone::ops::gpu {

namespace cuda = kernels::cuda;

void product(const Frame& frame, const cuda::ProductShape& shape,
             const cuda::ProductArrays& arrays) {
  const GpuFrame& gpu = frame.gpu();
  if (gpu.tuning) {
    // Weight gradients may hold those of an earlier batch.
    cuda::ProductArrays tried = arrays;
    if (shape.kind == cuda::ProductKind::weight_gradient) {
      tried.c = static_cast<std::byte*>(frame.workspace()) + kProductScratch;
    }
    return gpu.check(
        gpu.api->product_tune(shape, tried, frame.workspace(), kProductScratch, gpu.stream));
  }
  size_t bytes = 0;
  gpu.check(gpu.api->product_prepare(shape, kProductScratch, &bytes));
  gpu.check(gpu.api->product(shape, arrays, frame.workspace(), bytes, gpu.stream));
}

cuda::Dropout dropout_at(const Frame& frame, const DropoutSite& site) {
  if (!site.active()) return {};
  return {site.p, site.site, frame.data<const cuda::RandomState>(site.random),
          frame.data<const int64_t>(site.samples), frame.data<const int32_t>(site.positions)};
}

cuda::Activation activation_of(kernels::Activation activation) {
  return static_cast<cuda::Activation>(activation);
}

void activate(const Frame& frame, kernels::Activation activation, Value x, Value y) {
  const GpuFrame& gpu = frame.gpu();
  gpu.check(gpu.api->activate(activation_of(activation), x.dtype, frame.data<const void>(x),
                              frame.rows(x) * x.width, frame.data<void>(y), gpu.stream));
}

void activation_backward(const Frame& frame, kernels::Activation activation, Value dy, Value x,
                         Value dx, float* dbias, void* parts, cuda::RowSums* sums, void* y) {
  cuda::ActivationBackward args;
  args.activation = activation_of(activation);
  args.dtype = x.dtype;
  args.rows = frame.rows(x);
  args.width = x.width;
  args.dy = frame.data<const void>(dy);
  args.z = frame.data<const void>(x);
  args.dz = frame.data<void>(dx);
  args.y = y;
  args.dbias = dbias;
  const GpuFrame& gpu = frame.gpu();
  gpu.check(gpu.api->activation_backward(args, parts, gpu.stream, sums));
}

Value norm_sums_value(Plan& plan, Axis rows, int64_t width) {
  return plan.temporary([rows, width](const Extents& extents) {
    return cuda::kernel_api().row_sums_workspace(extents[rows], width);
  });
}

Value row_sum_value(Plan& plan, Axis rows, int64_t width) {
  return plan.temporary([rows, width](const Extents& extents) {
    return cuda::kernel_api().one_row_sum_workspace(extents[rows], width);
  });
}

}  // namespace hone::ops::gpu
