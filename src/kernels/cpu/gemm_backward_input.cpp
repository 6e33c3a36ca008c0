#include "kernels/cpu/gemm_backward_pack.h"
#include "kernels/cpu/gemm_f64.h"

namespace hone::kernels {
namespace {

/// W^T as a weight of the forward product dx = dy (W^T)^T, in the first bytes of the workspace.
PackedMatrix transposed(const PackedMatrix& w, const void* data) {
  return {w.dtype, w.isa, w.k, w.n, data};
}

size_t transposed_bytes(const PackedMatrix& w) {
  return static_cast<size_t>(
      round_up(static_cast<int64_t>(packed_bytes(w.isa, w.dtype, w.k, w.n)), 64));
}

GemmArgs forward(const InputGradientArgs& args, const PackedMatrix& b) {
  GemmArgs product;
  product.m = args.m;
  product.a = args.dy;
  product.a_dtype = b.dtype;
  product.lda = args.lddy;
  product.b = &b;
  product.residual = args.add;
  product.residual_dtype = args.add_dtype;
  product.ldr = args.ldadd;
  product.c = args.dx;
  product.c_dtype = args.dx_dtype;
  product.ldc = args.lddx;
  return product;
}

}  // namespace

size_t gemm_input_gradient_workspace_with(const GemmKernel& kernel, const InputGradientArgs& args,
                                          int threads) {
  const PackedMatrix b = transposed(*args.w, nullptr);
  return transposed_bytes(*args.w) + gemm_workspace_with(kernel, forward(args, b), threads);
}

void gemm_input_gradient_with(const GemmKernel& kernel, const InputGradientArgs& args,
                              void* workspace, ThreadPool& pool) {
  if (args.m <= 0) return;
  const PackedMatrix& w = *args.w;
  const int64_t width = panel_rows(w.isa);
  auto* data = static_cast<std::byte*>(workspace);
  const size_t panel_bytes = packed_bytes(w.isa, w.dtype, width, w.n);
  pool.run(ceil_div(w.k, width), [&](int64_t panel, int) {
    transpose_panel(w, panel, data + static_cast<size_t>(panel) * panel_bytes);
  });
  const PackedMatrix b = transposed(w, data);
  gemm_with(kernel, forward(args, b), data + transposed_bytes(w), pool);
}

size_t gemm_input_gradient_workspace(const InputGradientArgs& args, int threads) {
  const PackedMatrix& w = *args.w;
  if (w.dtype == DType::f64) return 0;
  return gemm_input_gradient_workspace_with(gemm_kernel(w.isa, w.dtype), args, threads);
}

void gemm_input_gradient(const InputGradientArgs& args, void* workspace, ThreadPool& pool) {
  const PackedMatrix& w = *args.w;
  if (w.dtype == DType::f64) return gemm_input_gradient_f64(args, pool);
  gemm_input_gradient_with(gemm_kernel(w.isa, w.dtype), args, workspace, pool);
}

}  // namespace hone::kernels
