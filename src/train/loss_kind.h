#pragma once

#include "base/problem_type.h"
#include "ops/loss.h"

namespace hone::train {

/// Gives the loss that a model of this problem is trained with.
inline ops::LossKind loss_kind(ProblemType problem) {
  switch (problem) {
    case ProblemType::regression:
      return ops::LossKind::squared_error;
    case ProblemType::multi_label:
      return ops::LossKind::binary_cross_entropy;
    default:
      return ops::LossKind::cross_entropy;
  }
}

}  // namespace hone::train
