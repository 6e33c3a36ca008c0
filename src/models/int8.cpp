#include "models/int8.h"

#include <algorithm>

#include "base/error.h"

namespace hone::models {

std::string layer_part(size_t layer) { return "layer." + std::to_string(layer); }

Json int8_entry(const std::vector<std::string>& kept, const Json& measured) {
  Json entry = {{"quant_method", kInt8Method}, {"kept", kept}};
  if (measured.is_object()) entry.update(measured);
  return entry;
}

Quantization read_quantization(const JsonFields& fields, const ModelConfig& config) {
  Quantization quantization;
  if (!fields.has("quantization_config")) return quantization;
  const JsonFields entry = fields.object("quantization_config");
  if (entry.string("quant_method", std::string()) != kInt8Method) {
    entry.fail_field("quant_method", std::string("expected ") + kInt8Method);
  }
  quantization.stored = true;
  if (!entry.has("kept")) return quantization;
  const Json& kept = entry.at("kept");
  const std::vector<std::string> known = config.parts();
  if (!kept.is_array()) entry.fail_field("kept", "expected a list of parts");
  for (const Json& part : kept) {
    if (!part.is_string() || std::find(known.begin(), known.end(), part) == known.end()) {
      entry.fail_field("kept", "expected embeddings or layers as layer.0");
    }
    quantization.kept.push_back(part);
  }
  return quantization;
}

}  // namespace hone::models
