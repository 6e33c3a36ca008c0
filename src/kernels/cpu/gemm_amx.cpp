#include "kernels/cpu/gemm_kernel.h"
namespace hone::kernels {
const GemmKernel* gemm_amx_kernel() { return nullptr; }
}  // namespace hone::kernels
