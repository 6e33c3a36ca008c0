#include "models/model.h"

namespace hone::models {

Model::Model(const Family& family, const MakeOptions& options, DType activations)
    : family_(family),
      dtype_(options.dtype),
      activations_(activations),
      parameters_(options.target) {}

WeightArrays Model::weights_for(const std::vector<bool>& shadows) {
  if (!parameters_.on_gpu()) return parameters_.pointers();
  return parameters_.arrays_for(activations_, shadows, false);
}

std::vector<Part> Model::record_parts(const OutputOptions& request) const {
  std::vector<Part> parts(1);
  static_cast<Pass&>(parts.front()) = record(request);
  return parts;
}

std::unique_ptr<Model> make_model(const ModelConfig& config, const MakeOptions& options) {
  return family_of(config).make(config, options);
}

}  // namespace hone::models
