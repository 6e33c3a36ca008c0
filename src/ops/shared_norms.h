#pragma once

#include "kernels/cpu/batch_norm.h"

namespace hone::ops {

/// While it lives, norms in the plans that the calling thread runs on the processor take their
/// statistics over all parts of a batch, as if one process ran it whole. Whoever has a part, be it
/// empty, runs the same plan.
class SharedNorms {
 public:
  /// `over_parts` is called twice a norm in the forward pass and once in the backward pass.
  explicit SharedNorms(kernels::SumOverParts over_parts);
  ~SharedNorms();
  SharedNorms(const SharedNorms&) = delete;
  SharedNorms& operator=(const SharedNorms&) = delete;
};

/// Gives how the calling thread's norms sum over parts; empty where the rows are the batch.
const kernels::SumOverParts& norm_sums();

}  // namespace hone::ops
