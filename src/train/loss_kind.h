#pragma once

#include "base/problem_type.h"
#include "ops/loss.h"

namespace hone::train {

/// Gives the loss that a model of this problem is trained with.
inline LossKind loss_kind(ProblemType problem) {
  switch (problem) {
    case ProblemType::regression:
      return LossKind::squared_error;
    case ProblemType::multi_label:
      return LossKind::binary_cross_entropy;
    default:
      return LossKind::cross_entropy;
  }
}

}  // namespace hone::train
