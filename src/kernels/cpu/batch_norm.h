#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/thread_pool.h"
#include "kernels/cpu/accumulator.h"

namespace hone::kernels {

/// A batch norm's parameters and running statistics, [width] each. Training sets the statistics
/// (running = (1 - momentum) running + momentum batch's, the variance by n - 1 as PyTorch has it).
template <typename T>
struct BatchNorm {
  const Accumulator<T>* weight;
  const Accumulator<T>* bias;
  Accumulator<T>* running_mean;
  Accumulator<T>* running_variance;
  double eps;
  double momentum;
  bool frozen = false;  ///< training takes the running statistics, and leaves them
};

/// y [rows, width] = (x - running mean) / sqrt(running variance + eps) * weight + bias. A row's
/// bits depend on that row alone.
template <typename T>
void batch_norm_infer(const BatchNorm<T>& norm, const T* x, int64_t rows, int64_t width, T* y,
                      ThreadPool& pool);

/// Adds numbers up over all who have a part of a batch's rows, each of whom makes the same calls;
/// empty: the rows are the batch.
using SumOverParts = std::function<void(std::span<double> sums)>;

/// Gives the scratch bytes of batch_norm_train() and batch_norm_backward().
size_t batch_norm_workspace(int64_t rows, int64_t width);

/// Normalises with the mean and variance over the rows of all parts, which are kept in mean and
/// rstd [width] for the backward pass, and updates the running ones. Sums run in one order for any
/// number of threads.
template <typename T>
void batch_norm_train(const BatchNorm<T>& norm, const T* x, int64_t rows, int64_t width, T* y,
                      Accumulator<T>* mean, Accumulator<T>* rstd, void* workspace, ThreadPool& pool,
                      const SumOverParts& over_parts = {});

/// Sets (=) dx and adds (+=) to dweight and dbias, which may be null and get the share of these
/// rows alone. Frozen statistics do not depend on x.
template <typename T>
void batch_norm_backward(bool frozen, const T* dy, const T* x, const Accumulator<T>* mean,
                         const Accumulator<T>* rstd, const Accumulator<T>* weight, int64_t rows,
                         int64_t width, T* dx, Accumulator<T>* dweight, Accumulator<T>* dbias,
                         void* workspace, ThreadPool& pool, const SumOverParts& over_parts = {});

}  // namespace hone::kernels
