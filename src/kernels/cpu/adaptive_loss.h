#pragma once

#include <span>

#include "kernels/cpu/loss.h"

namespace hone::kernels {

/// What adaptive exits learn of n samples: exit i of E gives logits[i], [n, classes + 1], whose
/// last column is the logit of its answer being right; the last layer gives logits[E], [n,
/// classes].
template <typename T>
struct AdaptiveExits {
  std::span<const T* const> logits;
  const int32_t* labels;  ///< [n]
  int64_t n;
  int64_t classes;
};

/// What the layers that run are worth: `weight` times shares[i] where layer i is the last of them;
/// without shares (i + 1) / L.
struct LayerCosts {
  double weight = 0;
  std::span<const double> shares = {};
};

/// Computes, for a sample and L = E + 1 layers:
///   the cross-entropies of all layers, layer i = 1..L weighed 2 i / (L (L + 1));
///   the mean over the exits of the binary cross-entropy of being right, against whether the exit's
///   largest logit is the label's;
///   the expected cost of the layers that run, where exit i is left with the probability of being
///   right that it gives.
/// dlogits[i] lies as logits[i] does and may be null; `loss` is the sum over the samples / count.
template <typename T>
void adaptive_loss(const AdaptiveExits<T>& exits, const LayerCosts& costs, LossScale scale,
                   double* loss, std::span<T* const> dlogits);

}  // namespace hone::kernels
