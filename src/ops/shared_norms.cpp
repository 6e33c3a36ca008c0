#include "ops/shared_norms.h"

#include <utility>

namespace hone::ops {
namespace {

thread_local kernels::SumOverParts sum_over_parts;

}  // namespace

SharedNorms::SharedNorms(kernels::SumOverParts over_parts) {
  sum_over_parts = std::move(over_parts);
}

SharedNorms::~SharedNorms() { sum_over_parts = {}; }

const kernels::SumOverParts& norm_sums() { return sum_over_parts; }

}  // namespace hone::ops
