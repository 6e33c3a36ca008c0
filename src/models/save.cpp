#include "models/save.h"

#include <map>
#include <utility>

#include "base/json.h"
#include "io/safetensors_writer.h"
#include "models/load.h"
#include "models/parser.h"

namespace hone::models {
namespace {

/// A tensor's rows within its parameter.
struct TensorRows {
  const nn::Parameter* parameter;
  int64_t begin;
  int64_t end;
};

/// torch's norms count the batches behind their statistics. With a fixed momentum nothing reads the
/// count, but who loads a state dict misses it.
std::string batch_counter_of(const std::string& name) {
  const std::string_view mean = "running_mean";
  if (!name.ends_with(mean)) return "";
  return name.substr(0, name.size() - mean.size()) + kBatchCounter;
}

}  // namespace

void save_arrays(const std::vector<const nn::Parameter*>& parameters, const PackedSource& source,
                 const std::function<std::string(const std::string&)>& name_of,
                 const std::string& path) {
  std::map<std::string, TensorRows> parts;
  std::vector<io::TensorSpec> specs;
  for (const nn::Parameter* parameter : parameters) {
    const auto count = static_cast<int64_t>(parameter->tensors.size());
    const int64_t share = row_count(*parameter) / count;
    for (int64_t i = 0; i < count; ++i) {
      const std::string name = name_of(parameter->tensors[static_cast<size_t>(i)]);
      const TensorRows part{parameter, i * share, (i + 1) * share};
      parts.emplace(name, part);
      specs.push_back({name, DType::f32, nn::tensor_shape(*parameter)});
      const std::string counter = batch_counter_of(name);
      if (!counter.empty()) specs.push_back({counter, DType::i64, {}});
    }
  }
  io::SafetensorsWriter writer(path, std::move(specs));
  for (const io::TensorSpec& tensor : writer.tensors()) {
    if (tensor.dtype == DType::i64) {
      const int64_t none = 0;
      writer.write_raw(&none, 1);
      continue;
    }
    const TensorRows& part = parts.at(tensor.name);
    const int64_t width = row_width(*part.parameter);
    read_rows(
        *part.parameter, source(*part.parameter), part.begin, part.end,
        [&](int64_t, int64_t count, const float* rows) { writer.write(rows, count * width); });
  }
  writer.commit();
}

void save_arrays(const ArrayFile& file, const PackedSource& source, const std::string& folder) {
  save_arrays(file.parameters, source, file.name_of, folder + "/" + file.name);
}

PackedSource weights_of(const Model& model) {
  return [&all = model.parameters()](const nn::Parameter& parameter) {
    const Weight& weight = parameter.weight;
    return nn::ConstPackedArray{all.isa(), weight.dtype,
                                all.pointers()[static_cast<size_t>(weight.slot)]};
  };
}

ArrayFile weights_file(const Model& model) {
  ArrayFile file{"model.safetensors", {}, [&model](const std::string& name) {
                   return model.has_head() ? checkpoint_name(model.family(), name) : name;
                 }};
  for (const nn::Parameter& parameter : model.parameters().list()) {
    if (!nn::is_lora(parameter.tensors.front())) file.parameters.push_back(&parameter);
  }
  return file;
}

void save_weights(const Model& model, const std::string& folder) {
  save_arrays(weights_file(model), weights_of(model), folder);
}

Json config_for_saving(Json source, const Model& model) {
  const Family& family = model.family();
  source["architectures"] =
      Json::array({family.architecture + (!model.has_head()           ? "Model"
                                          : is_parser(model.config()) ? "ForConstituencyParsing"
                                                                      : family.head_class)});
  // transformers renamed the field in version 4.56; both are read there.
  source.erase("torch_dtype");
  source.erase("quantization_config");  // fp32 is written, whatever was read
  source["dtype"] = "float32";
  if (model.has_head()) {
    write_labels(model.config(), source);
    source.erase("num_labels");  // id2label says it
  }
  return source;
}

void save_config(const Json& source, const Model& model, const std::string& folder) {
  write_json(folder + "/config.json", config_for_saving(source, model));
}

}  // namespace hone::models
