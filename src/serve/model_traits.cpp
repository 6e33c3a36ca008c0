#include "serve/model_traits.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/version.h"
#include "device/cpu_info.h"
#include "device/cuda.h"

namespace hone::serve {
namespace {

constexpr uint64_t kMaxPrompts = uint64_t{1} << 20;

/// sentence-transformers' prompts by name.
Prompts read_prompts(const std::string& folder) {
  Prompts prompts;
  const std::string path = folder + "/config_sentence_transformers.json";
  if (!file_exists(path)) return prompts;
  const Json json = parse_json(read_file(path, kMaxPrompts), path);
  const JsonFields fields(json, path);
  if (!fields.has("prompts")) return prompts;
  const Json& named = fields.at("prompts");
  if (!named.is_object()) fields.fail_field("prompts", "expected an object");
  for (const auto& [name, text] : named.items()) {
    if (!text.is_string()) fields.fail_field("prompts", "expected texts by name");
    prompts[name] = text.get<std::string>();
  }
  return prompts;
}

std::string_view pooling_name(const infer::Session& session, const infer::SessionOptions& options) {
  const auto& sentence = session.folder().sentence;
  switch (options.pooling.value_or(sentence ? sentence->pooling : ops::Pooling::mean)) {
    case ops::Pooling::cls:
      return "cls";
    case ops::Pooling::max:
      return "max";
    default:
      return "mean";
  }
}

/// text-embeddings-inference's name of a dtype.
std::string_view dtype_in_full(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::f8:
      return "float8";
    default:
      return dtype_name(dtype);
  }
}

DType dtype_of(const infer::Session& session, const infer::SessionOptions& options) {
  return options.dtype.value_or(session.config().quantization.stored ? DType::i8 : DType::f32);
}

OrderedJson label_json(const models::ModelConfig& config) {
  OrderedJson id2label = OrderedJson::object();
  OrderedJson label2id = OrderedJson::object();
  for (size_t i = 0; i < config.labels.size(); ++i) {
    id2label[std::to_string(i)] = config.labels[i];
    label2id[config.labels[i]] = i;
  }
  return {{"id2label", id2label}, {"label2id", label2id}};
}

/// The kernel that products of this dtype use on the processor.
OrderedJson kernel_json(DType dtype) {
  for (const KernelChoice& choice : kernel_choices(chosen_isa())) {
    if (choice.dtype == dtype_name(dtype)) {
      return {{"kernel", choice.kernel}, {"reason", choice.reason}};
    }
  }
  return nullptr;
}

}  // namespace

ModelTraits::ModelTraits(std::string name_in, const ServedModel& model) : name(std::move(name_in)) {
  const infer::Session& session = model.session();
  const infer::SessionOptions& options = model.settings().session;
  config = session.folder().config;
  width = session.output_width();
  if (options.output == models::Output::logits) {
    kind = config->labels.size() == 1 ? Kind::reranker : Kind::classifier;
  } else {
    kind = Kind::embedding;
    pooling = pooling_name(session, options);
    prompts = read_prompts(session.folder().path);
    normalize = session.folder().sentence && session.folder().sentence->normalize;
  }
  const auto& devices = model.settings().devices;
  const bool cpu = std::ranges::find(devices, "cpu") != devices.end() || !session.on_gpu();
  compute_type = !session.on_gpu() ? "cpu" : cpu ? "cpu+gpu" : "gpu";
}

InferModel ModelTraits::infer_model() const {
  return {name, std::string(kModelVersion), embeds() ? nullptr : config.get(), width, normalize};
}

OrderedJson info_json(const ModelTraits& traits, const ServedModel& model,
                      const ServerFacts& facts) {
  const infer::Session& session = model.session();
  const ModelSettings& settings = model.settings();
  const DType dtype = dtype_of(session, settings.session);
  OrderedJson type;
  if (traits.embeds()) {
    type["embedding"] = {{"pooling", traits.pooling}};
  } else {
    type[traits.kind == ModelTraits::Kind::reranker ? "reranker" : "classifier"] =
        label_json(*traits.config);
  }
  OrderedJson requests = nullptr;
  if (settings.max_batch_requests > 0) requests = settings.max_batch_requests;
  OrderedJson json = {{"model_id", settings.folder},
                      {"model_sha", nullptr},
                      {"model_dtype", dtype_in_full(dtype)},
                      {"served_model_name", traits.name},
                      {"model_type", type},
                      {"max_concurrent_requests", facts.max_concurrent_requests},
                      {"max_queue_seconds", settings.max_queue_seconds},
                      {"max_input_length", session.max_units()},
                      {"max_batch_tokens", settings.max_batch_tokens},
                      {"max_batch_requests", requests},
                      {"max_client_batch_size", facts.max_client_batch_size},
                      {"auto_truncate", facts.auto_truncate},
                      {"tokenization_workers",
                       settings.session.threads > 0 ? settings.session.threads : usable_cores()},
                      {"version", kVersion}};
  json["payload_limit"] = facts.payload_limit;
  json["io_threads"] = facts.io_threads;
  std::vector<std::string> devices = settings.devices;
  std::ranges::replace(devices, "auto", std::string(traits.compute_type == "cpu" ? "cpu" : "cuda"));
  json["devices"] = devices;
  json["compute_type"] = traits.compute_type;
  json["dtype"] = dtype_name(dtype);
  if (traits.compute_type == "cpu") {
    json["instructions"] = isa_name(chosen_isa());
    json["kernels"] = kernel_json(dtype);
  } else {
    json["kernels"] = {{"kernel", "cuBLASLt, and own: attention, norms, embeddings"}};
  }
  json["truncation"] = facts.auto_truncate ? "longer texts are cut; x-truncated-from says from what"
                                           : "longer texts are refused";
  return json;
}

}  // namespace hone::serve
