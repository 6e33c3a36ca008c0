#include "kernels/cpu/gemm_kernel.h"

namespace hone::kernels {

const GemmKernel& gemm_kernel(Isa isa, DType dtype) {
  if (dtype == DType::i8) {
    if (isa == Isa::amx && cpu_info().amx_int8) return *gemm_amx_int8_kernel();
    return isa >= Isa::avx512_vnni ? *gemm_vnni_kernel() : *gemm_int8_kernel(isa);
  }
  if (dtype == DType::bf16 && isa == Isa::amx) return *gemm_amx_kernel();
  if (dtype == DType::bf16 && isa == Isa::avx512_bf16) return *gemm_bf16_kernel();
  return *gemm_f32_kernel(isa, dtype);
}

}  // namespace hone::kernels
