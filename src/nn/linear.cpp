#include "nn/linear.h"

#include <utility>

#include "ops/activation.h"
#include "ops/scale.h"

namespace hone::nn {

Linear::Linear(Parameters& parameters, const std::vector<std::string>& modules, int64_t out,
               int64_t in, DType dtype, const LoraTargets* lora)
    : isa_(parameters.isa()) {
  std::vector<std::string> weights;
  std::vector<std::string> biases;
  for (const std::string& module : modules) {
    weights.push_back(module + ".weight");
    biases.push_back(module + ".bias");
  }
  weight_ = parameters.matrix(std::move(weights), out, in, dtype);
  bias_ = parameters.vector(std::move(biases), out);
  if (!lora) return;
  scale_ = lora->options.scale();
  dropout_ = static_cast<float>(lora->options.dropout);
  const int64_t share = out / static_cast<int64_t>(modules.size());
  int64_t column = 0;
  for (const std::string& module : modules) {
    if (lora->matches(module)) {
      const int64_t rank = lora->options.rank;
      adapters_.push_back({parameters.matrix({module + kLoraA}, rank, in, dtype),
                           parameters.matrix({module + kLoraB}, share, rank, dtype), column});
    }
    column += share;
  }
}

Linear Linear::outputs(int64_t first, int64_t count) const {
  Linear part = *this;
  part.weight_.rows = count;
  part.weight_.offset += first * weight_.width;
  part.bias_.width = count;
  part.bias_.offset += first;
  part.adapters_.clear();
  for (Lora adapter : adapters_) {
    if (adapter.column < first || adapter.column >= first + count) continue;
    adapter.column -= first;
    part.adapters_.push_back(adapter);
  }
  return part;
}

Linear Linear::without_bias() const {
  Linear other = *this;
  other.bias_ = {};
  return other;
}

Value Linear::operator()(Tape& tape, Value x, const ops::LinearOptions& options,
                         const ops::DropoutSite& drop) const {
  if (adapters_.empty()) return ops::linear(tape, x, weight_, bias_, isa_, options);
  const Value y = ops::linear(tape, x, weight_, bias_, isa_, {.out = options.out});
  ops::DropoutSite site = drop;
  site.p = dropout_;
  for (const Lora& adapter : adapters_) {
    const Value dropped = ops::dropout(tape, x, site);
    const Value low = ops::linear(tape, dropped, adapter.a, {}, isa_, {.out = x.dtype});
    ops::linear(tape, ops::scale(tape, low, scale_), adapter.b, {}, isa_,
                {.into = y, .column = adapter.column});
    ++site.site;
  }
  if (options.activation == kernels::Activation::none) return y;
  return ops::activate(tape, y, options.activation);
}

}  // namespace hone::nn
