#pragma once

#include <cstdint>

namespace hone::kernels {

/// Says how a loss is normalised: by the samples of the global batch, so that uneven ranks and
/// accumulated batches give what one batch gives.
struct LossScale {
  double count;        ///< samples; for cross-entropy with class weights sum_of_weights() of them
  double scale = 1.0;  ///< factor of the gradient alone (loss scaling)
};

/// The results of a loss; a pointer is null where a result is not wanted.
template <typename T>
struct LossOutputs {
  T* losses = nullptr;     ///< = [n], the loss of each sample
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

/// The losses below take logits [n, classes], are those that PyTorch defines, for float and double,
/// and run in the caller's thread. Sums over samples are double, in their order.

/// Computes CrossEntropyLoss; labels [n] are in range.
template <typename T>
void cross_entropy(const T* logits, const int32_t* labels, int64_t n, int64_t classes,
                   const CrossEntropy<T>& options, LossScale scale, const LossOutputs<T>& outputs);

/// Computes CrossEntropyLoss of targets that are the classes' shares, [n, classes] and a row's sum
/// 1; a row of zeros does not count.
template <typename T>
void soft_cross_entropy(const T* logits, const T* targets, int64_t n, int64_t classes,
                        T label_smoothing, LossScale scale, const LossOutputs<T>& outputs);

/// Computes MSELoss: a sample's loss is the mean over its outputs. Logits and targets are [n,
/// width].
template <typename T>
void squared_error(const T* predictions, const T* targets, int64_t n, int64_t width,
                   LossScale scale, const LossOutputs<T>& outputs);

/// Computes BCEWithLogitsLoss: a sample's loss is the mean over its classes. Targets [n, classes]
/// are in [0, 1]; positive_weights [classes], null: all 1.
template <typename T>
void binary_cross_entropy(const T* logits, const T* targets, int64_t n, int64_t classes,
                          const T* positive_weights, LossScale scale,
                          const LossOutputs<T>& outputs);

}  // namespace hone::kernels
