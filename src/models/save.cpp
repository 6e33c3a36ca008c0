#include "models/save.h"

#include <map>
#include <utility>

#include "base/json.h"
#include "io/safetensors_writer.h"

namespace hone::models {
namespace {

/// A tensor's rows within its parameter.
struct Part {
  const nn::Parameter* parameter;
  int64_t begin;
  int64_t end;
};

std::vector<int64_t> shape_of(const Part& part) {
  const int64_t rows = part.end - part.begin;
  if (part.parameter->kind == nn::ParameterKind::vector) return {rows};
  return {rows, part.parameter->weight.width};
}

}  // namespace

void save_arrays(const std::vector<const nn::Parameter*>& parameters, const PackedSource& source,
                 const std::function<std::string(const std::string&)>& name_of,
                 const std::string& path) {
  std::map<std::string, Part> parts;
  std::vector<io::TensorSpec> specs;
  for (const nn::Parameter* parameter : parameters) {
    const auto count = static_cast<int64_t>(parameter->tensors.size());
    const int64_t share = row_count(*parameter) / count;
    for (int64_t i = 0; i < count; ++i) {
      const std::string name = name_of(parameter->tensors[static_cast<size_t>(i)]);
      const Part part{parameter, i * share, (i + 1) * share};
      parts.emplace(name, part);
      specs.push_back({name, DType::f32, shape_of(part)});
    }
  }
  io::SafetensorsWriter writer(path, std::move(specs));
  for (const io::TensorSpec& tensor : writer.tensors()) {
    const Part& part = parts.at(tensor.name);
    const int64_t width = row_width(*part.parameter);
    read_rows(
        *part.parameter, source(*part.parameter), part.begin, part.end,
        [&](int64_t, int64_t count, const float* rows) { writer.write(rows, count * width); });
  }
  writer.commit();
}

void save_slots(const Encoder& encoder, const std::vector<const nn::Parameter*>& parameters,
                const std::string& prefix, const std::string& path) {
  const nn::Parameters& all = encoder.parameters();
  const auto source = [&](const nn::Parameter& parameter) {
    const Weight& weight = parameter.weight;
    return ConstPackedArray{all.isa(), weight.dtype,
                            all.pointers()[static_cast<size_t>(weight.slot)]};
  };
  const auto name_of = [&](const std::string& name) {
    return prefix + (encoder.has_head() ? checkpoint_name(encoder.family(), name) : name);
  };
  save_arrays(parameters, source, name_of, path);
}

void save_weights(const Encoder& encoder, const std::string& folder) {
  std::vector<const nn::Parameter*> base;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    if (!nn::is_lora(parameter.tensors.front())) base.push_back(&parameter);
  }
  save_slots(encoder, base, "", folder + "/model.safetensors");
}

Json config_for_saving(Json source, const Encoder& encoder) {
  const std::string family(encoder.family().architecture);
  source["architectures"] =
      Json::array({family + (encoder.has_head() ? "ForSequenceClassification" : "Model")});
  // transformers renamed the field in version 4.56; both are read there.
  source.erase("torch_dtype");
  source.erase("quantization_config");  // fp32 is written, whatever was read
  source["dtype"] = "float32";
  if (encoder.has_head()) {
    write_labels(encoder.config(), source);
    source.erase("num_labels");  // id2label says it
  }
  return source;
}

void save_config(const Json& source, const Encoder& encoder, const std::string& folder) {
  write_json(folder + "/config.json", config_for_saving(source, encoder));
}

}  // namespace hone::models
