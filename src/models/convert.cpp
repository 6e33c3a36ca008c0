#include "models/convert.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "device/cpu_info.h"
#include "io/safetensors_writer.h"
#include "io/weights.h"
#include "models/convert_tensors.h"
#include "models/folder.h"
#include "models/int8.h"
#include "models/load.h"
#include "models/packed_file.h"
#include "models/save.h"
#include "models/stored_weights.h"

namespace hone::models {
namespace {

namespace fs = std::filesystem;

/// Says whether a file of a model folder belongs to it beside its weights. A run leaves others
/// where it trains (logs, its lock, its state, results), which are of no use to who runs the model.
bool belongs_to_model(const std::string& name) {
  static constexpr std::string_view kNames[] = {"config.json",
                                                "generation_config.json",
                                                "preprocessor_config.json",
                                                "tokenizer.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.txt",
                                                "vocabulary.txt",
                                                "vocab.json",
                                                "merges.txt",
                                                "spiece.model",
                                                "sentencepiece.bpe.model",
                                                "tokenizer.model",
                                                "chat_template.jinja",
                                                "modules.json",
                                                "sentence_bert_config.json",
                                                "config_sentence_transformers.json"};
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  // transformers imports a model's own code from its folder.
  return name.starts_with("README") || name.starts_with("LICENSE") || name.starts_with("NOTICE") ||
         name.ends_with(".py");
}

/// Copies config, tokenizer, texts, and the folders of sentence-transformers; no weights.
void copy_rest(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool of_training = name.starts_with("checkpoint-") || name.starts_with("stage-");
    if (entry.is_directory() && fs::exists(entry.path() / "config.json") && !of_training) {
      fs::create_directories(to / name);
      copy_rest(entry.path(), to / name);
    } else if (entry.is_regular_file() && belongs_to_model(name)) {
      write_file((to / name).string(), read_file(entry.path().string()));
    }
  }
}

void write_config(Json config, const ConvertOptions& options, const std::string& path) {
  const bool halves = options.dtype == DType::f16 || options.dtype == DType::bf16;
  const char* name = !halves ? "float32" : options.dtype == DType::f16 ? "float16" : "bfloat16";
  // transformers renamed the field in version 4.56; both are read there.
  for (const char* field : {"torch_dtype", "dtype"}) {
    if (config.contains(field)) config[field] = name;
  }
  config.erase("quantization_config");
  if (options.dtype == DType::i8) {
    config["quantization_config"] = int8_entry(options.kept, options.measured);
  }
  write_json(path, config);
}

Converted write_weights(const io::Weights& weights, std::vector<WrittenTensor> tensors,
                        const std::string& to, uint64_t max_shard_bytes) {
  std::vector<io::TensorSpec> specs;
  std::map<std::string, const WrittenTensor*> by_name;
  for (const WrittenTensor& tensor : tensors) {
    specs.push_back(tensor.spec);
    by_name.emplace(tensor.spec.name, &tensor);
  }
  io::WeightsWriter writer(to, std::move(specs), max_shard_bytes);
  Converted converted;
  for (const io::TensorSpec& spec : writer.tensors()) {
    const WrittenTensor& tensor = *by_name.at(spec.name);
    write_tensor(weights, tensor, writer);
    ++converted.tensors;
    converted.bytes += static_cast<uint64_t>(elements_of(spec)) * dtype_size(spec.dtype);
  }
  writer.commit();
  return converted;
}

/// Writes the files of a model's folder beside config and weights.
void write_rest(const ModelFolder& model, const std::string& to) {
  if (!is_bare(model)) return copy_rest(model.path, to);
  const auto processor =
      family_of(*model.config)
          .open_processor(*model.config, {.path = model.path, .model = model.path});
  for (const data::TextFile& file : processor->files()) {
    write_file(to + "/" + file.name, file.text);
  }
}

/// Loads a model and saves it: an adapter's product is added to the weights that it belongs to, and
/// the tensors of a bare state dict get their names.
Converted write_anew(const ModelFolder& model, const std::string& to,
                     const ConvertOptions& options) {
  if (options.dtype != DType::f32 || options.stream) {
    fail(ErrorKind::unsupported, "{}: {} in fp32; convert the folder that it gives afterwards",
         options.stream ? "stream" : "dtype",
         is_bare(model) ? "a state dict without a config.json is converted"
                        : "an adapter is merged");
  }
  const auto weights = open_checkpoint(model.path);
  const auto adapter = open_adapter(model);
  const Family& family = family_of(*model.config);
  ThreadPool pool(usable_cores());
  const bool head = has_head_weights(family, *weights, adapter.get());
  const auto merged = make_model(*model.config, {DType::f32, chosen_isa(), head});
  load_weights(*merged, *weights, pool, {.adapter = adapter.get()});
  OutputFolder out(to);
  try {
    write_rest(model, out.partial());
  } catch (const fs::filesystem_error& e) {
    fail(ErrorKind::io, "{}: {}", to, e.code().message());
  }
  save_config(model.config_json, *merged, out.partial());
  save_weights(*merged, out.partial());
  out.commit();
  Converted converted;
  for (const nn::Parameter& parameter : merged->parameters().list()) {
    converted.tensors += static_cast<int64_t>(parameter.tensors.size());
    converted.bytes +=
        static_cast<uint64_t>(parameter.weight.rows * parameter.weight.width) * sizeof(float);
  }
  return converted;
}

Converted write_stream(const ModelFolder& model, const io::Weights& weights, const std::string& to,
                       const ConvertOptions& options) {
  const std::unique_ptr<ModelConfig> config = model.config->clone();
  config->quantization = {};
  config->quantization.kept = options.kept;
  const bool head = has_head_weights(family_of(*config), weights);
  const auto packed = make_model(*config, {options.dtype, chosen_isa(), head});
  const WeightSources sources = find_sources(*packed, weights, nullptr);
  Converted converted;
  converted.bytes = write_packed(to + "/" + kPackedName, *packed, sources);
  converted.tensors = static_cast<int64_t>(sources.rows.size());
  return converted;
}

}  // namespace

Converted convert_folder(const std::string& folder, const std::string& to,
                         const ConvertOptions& options) {
  const ModelFolder model = open_model_folder(folder);
  if (!model.adapter.empty() || is_bare(model)) return write_anew(model, to, options);
  if (options.stream && family_of(*model.config).samples == data::SampleKind::image) {
    fail(ErrorKind::unsupported, "stream: models of images are not streamed");
  }
  const auto weights = open_checkpoint(model.path);
  OutputFolder out(to);
  try {
    copy_rest(folder, out.partial());
    const fs::path relative = fs::relative(model.path, folder);
    const std::string place = (fs::path(out.partial()) / relative).string();
    write_config(model.config_json, options, place + "/config.json");
    const Converted converted =
        options.stream ? write_stream(model, *weights, place, options)
                       : write_weights(*weights, written_tensors(*model.config, *weights, options),
                                       place, options.max_shard_bytes);
    out.commit();
    return converted;
  } catch (const fs::filesystem_error& e) {
    fail(ErrorKind::io, "{}: {}", to, e.code().message());
  }
}

}  // namespace hone::models
