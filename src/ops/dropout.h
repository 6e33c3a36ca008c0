#pragma once

#include <optional>

#include "autograd/tape.h"
#include "kernels/cpu/dropout.h"

namespace hone {
class Frame;
}

namespace hone::ops {

/// One place of a model where something is dropped. What is dropped depends on (seed, step, site,
/// sample, position, channel) alone.
struct DropoutSite {
  float p = 0;
  uint64_t site = 0;
  Value random;     ///< int64 [1, 2]: seed and step
  Value samples;    ///< int64 [rows, 1]: numbers of the samples in their data set
  Value positions;  ///< int32 [rows, 1]: places in the sample

  bool active() const { return p > 0; }
  /// Adds the arrays that a step which drops reads.
  void add_reads(std::vector<Value>& reads) const;
  kernels::Dropout at(const Frame& frame) const;
};

/// y = x with elements dropped and the rest scaled by 1 / (1 - p); x itself where p is 0. The mask
/// is drawn again in the backward pass.
Value dropout(Tape& tape, Value x, const DropoutSite& site);

}  // namespace hone::ops
