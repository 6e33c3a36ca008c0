#pragma once

#include <cstdint>

namespace hone::kernels {

/// How a loss is normalised: by the samples of the global batch, so that uneven ranks and
/// accumulated batches give what one batch gives.
struct LossScale {
  double count;        ///< samples; for cross-entropy with class weights sum_of_weights() of them
  double scale = 1.0;  ///< of the gradient alone (loss scaling)
};

/// Null where not wanted.
template <typename T>
struct LossOutputs {
  T* losses = nullptr;     ///< = [n], of each sample
  double* loss = nullptr;  ///< = sum of losses / count: added up over ranks and batches, the mean
  T* dlogits = nullptr;    ///< = scale * d(loss)/d(logits), [n, classes]; overlaps no input
};

template <typename T>
struct CrossEntropy {
  const T* class_weights = nullptr;  ///< [classes]; null: all 1
  T label_smoothing = 0;
};

/// The sum over the samples of their labels' weights, by which PyTorch divides; n without weights.
template <typename T>
double sum_of_weights(const CrossEntropy<T>& options, const int32_t* labels, int64_t n);

/// Losses of logits [n, classes], as PyTorch defines them; for float and double, in the caller's
/// thread. Sums over samples are double, in their order.

/// CrossEntropyLoss; labels [n] in range.
template <typename T>
void cross_entropy(const T* logits, const int32_t* labels, int64_t n, int64_t classes,
                   const CrossEntropy<T>& options, LossScale scale, const LossOutputs<T>& outputs);

/// MSELoss: a sample's loss is the mean over its outputs. Both are [n, width].
template <typename T>
void squared_error(const T* predictions, const T* targets, int64_t n, int64_t width,
                   LossScale scale, const LossOutputs<T>& outputs);

/// BCEWithLogitsLoss: a sample's loss is the mean over its classes. Targets [n, classes] in [0, 1];
/// positive_weights [classes], null: all 1.
template <typename T>
void binary_cross_entropy(const T* logits, const T* targets, int64_t n, int64_t classes,
                          const T* positive_weights, LossScale scale,
                          const LossOutputs<T>& outputs);

}  // namespace hone::kernels
