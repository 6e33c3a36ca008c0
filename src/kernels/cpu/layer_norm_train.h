#pragma once

#include <cstddef>
#include <cstdint>

#include "base/thread_pool.h"
#include "kernels/cpu/accumulator.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/embedding.h"
#include "kernels/cpu/layer_norm.h"

namespace hone::kernels {

/// Holds what the backward pass needs: (s - mean) * rstd, dense [rows, width], and rstd [rows].
template <typename T>
struct Normalized {
  T* xhat;
  Accumulator<T>* rstd;
};

/// Bytes of scratch of layer_norm_train(), aligned as 64 bytes.
size_t layer_norm_train_workspace(int64_t width, int threads);

/// s = dropout(x) + residual (null: none); xhat = (s - mean(s)) * rstd(s); y = xhat * weight +
/// bias, of the xhat that is stored, so that norm_affine() gives its bits again. All dense [rows,
/// width]; y (null: not wanted) and xhat may be x or residual where the types agree. Without
/// dropout y has the bits of layer_norm() in fp32; in bf16 xhat is rounded in between. (In, T,
/// Out): (float, float, float), (double, double, double), and for T bf16 any In and Out of float
/// and bf16.
template <typename In, typename T, typename Out>
void layer_norm_train(const In* x, const T* residual, const Dropout& dropout,
                      const NormWeightsOf<Accumulator<T>>& norm, int64_t rows, int64_t width,
                      Normalized<T> normalized, Out* y, void* workspace, ThreadPool& pool);

/// Computes y = xhat * weight + bias once more, for a backward pass that did not keep y, with the
/// bits of layer_norm_train() and of embed_and_normalize_train(). y may be xhat.
template <typename T, typename Out>
void norm_affine(const T* xhat, const NormWeightsOf<Accumulator<T>>& norm, int64_t rows,
                 int64_t width, Out* y, ThreadPool& pool);

/// Computes layer_norm_train() with s the sum of embeddings as in embed_and_normalize(). BERT drops
/// behind the norm: apply_dropout() on y. (Table, T): float or bf16 each, or (double, double).
template <typename Table, typename T>
void embed_and_normalize_train(const EmbeddingTables<Table>& tables, const EmbeddingIds& ids,
                               int64_t tokens, const NormWeightsOf<Accumulator<T>>& norm,
                               Normalized<T> normalized, T* y, ThreadPool& pool);

}  // namespace hone::kernels
