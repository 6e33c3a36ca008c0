#include "nn/span_scorer.h"

#include <algorithm>

#include "ops/activation.h"

namespace hone::nn {
namespace {

int64_t units(int64_t hidden) { return std::max<int64_t>(1, hidden / 2); }

}  // namespace

SpanScorer::SpanScorer(Parameters& parameters, const std::string& module, int64_t hidden,
                       DType dtype)
    : dense_(parameters, {module + ".dense"}, 4 * units(hidden), hidden, dtype),
      out_(parameters, {module + ".out"}, 1, units(hidden), dtype) {}

Value SpanScorer::operator()(Tape& tape, Value rows, const ops::SpanInputs& spans) const {
  const Value shares = dense_(tape, rows, {.out = rows.dtype});
  const Value sums = ops::span_rows(tape, shares, spans);
  const Value units = ops::activate(tape, sums, kernels::Activation::relu);
  return out_(tape, units, {.out = rows.dtype});
}

}  // namespace hone::nn
