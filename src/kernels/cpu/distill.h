#pragma once

#include "base/loss_kind.h"
#include "kernels/cpu/loss.h"

namespace hone::kernels {

struct Distillation {
  LossKind kind = LossKind::cross_entropy;  ///< the loss against the labels
  double temperature = 1;
};

/// Adds (+=) to the outputs of a loss what a teacher's logits ask for, all [n, classes]. Either
/// cross-entropy costs T^2 KL(softmax(teacher / T) || softmax(logits / T)) (Hinton et al., 2015),
/// the binary one the mean of the same over each flag's two outcomes, and squared errors their
/// mean. outputs.losses is not written.
template <typename T>
void add_distillation(const T* logits, const T* teacher, int64_t n, int64_t classes,
                      const Distillation& options, LossScale scale, const LossOutputs<T>& outputs);

}  // namespace hone::kernels
