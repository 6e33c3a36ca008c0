#include "models/pass.h"

namespace hone::models {

void Pass::bind(const data::Batch& batch, Runner& runner) const {
  for (size_t i = 0; i < inputs.size(); ++i) runner.bind(inputs[i], batch.data(i));
}

void declare_inputs(const data::BatchLayout& layout, Pass& pass) {
  for (const data::InputSpec& input : layout.inputs) {
    pass.inputs.push_back(pass.plan->input(input.dtype, input.axis, input.width, input.filler));
  }
}

}  // namespace hone::models
