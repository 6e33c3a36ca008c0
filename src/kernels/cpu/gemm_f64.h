#pragma once

#include "kernels/cpu/gemm_backward.h"

/// Matrix products in double, plainly: what gemm(), gemm_input_gradient() and
/// gemm_weight_gradient() do with a weight in f64, so that gradients can be checked through the
/// code that trains. They need no scratch, and give the same bits on any number of threads.
namespace hone::kernels {

/// Packs and unpacks rows as pack_rows() and unpack_row() do, for weights in double.
void pack_rows_f64(Isa isa, const double* rows, int64_t first, int64_t count, int64_t n, int64_t k,
                   double* packed);
void unpack_row_f64(const PackedMatrix& matrix, int64_t row, double* out);

/// Computes gemm() where A, the weight, bias, residual and C are all f64.
void gemm_f64(const GemmArgs& args, ThreadPool& pool);
void gemm_input_gradient_f64(const InputGradientArgs& args, ThreadPool& pool);
void gemm_weight_gradient_f64(const WeightGradientArgs& args, ThreadPool& pool);

}  // namespace hone::kernels
