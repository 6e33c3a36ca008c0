#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {

const GemmKernel& gemm_kernel(Isa isa, DType dtype) {
  if (dtype == DType::i8) {
    if (isa == Isa::neon) return *gemm_neon_int8_kernel();
    return isa == Isa::neon_dotprod ? *gemm_neon_dotprod_kernel() : *gemm_neon_i8mm_kernel();
  }
  if (dtype == DType::bf16 && isa == Isa::neon_bf16) return *gemm_neon_bf16_kernel();
  return *gemm_f32_kernel(isa, dtype);
}

}  // namespace hone::kernels
