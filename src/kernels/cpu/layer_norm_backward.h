#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/dropout.h"
#include "tensor/dtype.h"

namespace hone::kernels {

template <typename T>
struct NormGradients {
  T* sum;          ///< = the gradient of s, dense [rows, width], which is also the residual's
  T* x = nullptr;  ///< = the gradient of x: that of s, with dropout; null: not wanted
  Accumulator<T>* weight = nullptr;  ///< += [width]; null: frozen
  Accumulator<T>* bias = nullptr;    ///< += [width]; null: frozen
};

/// Bytes of scratch of layer_norm_backward(), aligned as 64 bytes.
size_t layer_norm_backward_workspace(int64_t rows, int64_t width);

/// Backward of layer_norm_train(): dy, xhat dense [rows, width], rstd [rows], weight [width].
/// gradients.sum may be dy where the types agree. Sums over rows go by chunks that follow from the
/// row count alone: no bit depends on the threads.
/// (Grad, T): (float, float), (bf16, bf16), (float, bf16), (double, double).
template <typename Grad, typename T>
void layer_norm_backward(const Grad* dy, const T* xhat, const Accumulator<T>* rstd,
                         const Accumulator<T>* weight, int64_t rows, int64_t width,
                         const Dropout& dropout, NormGradients<T> gradients, void* workspace,
                         ThreadPool& pool);

/// Adds to out [width] (+=) the sum over the rows of x [rows, width] (row stride `stride`): the
/// gradient of a bias. It takes layer_norm_backward()'s scratch and sums in the same order.
template <typename T>
void add_column_sums(const T* x, int64_t stride, int64_t rows, int64_t width, Accumulator<T>* out,
                     void* workspace, ThreadPool& pool);

}  // namespace hone::kernels
