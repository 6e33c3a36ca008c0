#include "models/config.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "kernels/cpu/attention.h"
#include "models/encoder_family.h"
#include "models/int8.h"

namespace hone::models {
namespace {

constexpr int64_t kMaxLabels = 1 << 20;

ProblemType read_problem(const JsonFields& fields, size_t labels) {
  const std::string name = fields.string("problem_type", std::string());
  if (name.empty()) return labels == 1 ? ProblemType::regression : ProblemType::single_label;
  if (name == "regression") return ProblemType::regression;
  if (name == "single_label_classification") return ProblemType::single_label;
  if (name == "multi_label_classification") return ProblemType::multi_label;
  fields.fail_field("problem_type",
                    "expected regression, single_label_classification or "
                    "multi_label_classification");
}

std::vector<std::string> read_labels(const JsonFields& fields) {
  std::vector<std::string> labels;
  if (!fields.has("id2label")) {
    const int64_t count = fields.integer("num_labels", 1, kMaxLabels, 2);
    for (int64_t i = 0; i < count; ++i) labels.push_back("LABEL_" + std::to_string(i));
    return labels;
  }
  const Json& names = fields.at("id2label");
  if (!names.is_object() || names.empty()) {
    fields.fail_field("id2label", "expected an object of names by id");
  }
  labels.resize(names.size());
  std::vector<bool> seen(names.size(), false);
  for (const auto& [key, name] : names.items()) {
    const bool digits =
        !key.empty() && key.size() < 8 &&
        std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
    const size_t id = digits ? std::stoul(key) : names.size();
    if (id >= names.size() || seen[id] || !name.is_string()) {
      fields.fail_field("id2label", fmt::format("expected names for the ids 0 to {}, at {}",
                                                names.size() - 1, quote(key)));
    }
    seen[id] = true;
    labels[id] = name.get<std::string>();
  }
  return labels;
}

bool are_named(const std::vector<std::string>& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != "LABEL_" + std::to_string(i)) return true;
  }
  return false;
}

}  // namespace

void check_encoder(const EncoderConfig& config, const JsonFields& fields) {
  if (config.hidden_size % config.heads != 0) {
    fail(ErrorKind::bad_file, "{}: hidden size {} is not a multiple of the {} attention heads",
         fields.file(), config.hidden_size, config.heads);
  }
  if (config.head_size() > kernels::kMaxHeadSize) {
    fail(ErrorKind::unsupported, "{}: attention heads of {} are wider than the {} supported",
         fields.file(), config.head_size(), kernels::kMaxHeadSize);
  }
  if (config.max_tokens() < 1) {
    fields.fail_field("max_position_embeddings",
                      fmt::format("leaves no position beside pad_token_id {}", config.pad_id));
  }
  if (!(config.layer_norm_eps >= 0 && config.layer_norm_eps < 1)) {
    fields.fail_field("layer_norm_eps", "expected a number from 0 to 1");
  }
  if (fields.boolean("is_decoder", false))
    fields.fail_field("is_decoder", "decoders are not supported");
  if (fields.boolean("add_cross_attention", false)) {
    fields.fail_field("add_cross_attention", "cross attention is not supported");
  }
  if (fields.has("pruned_heads") && !fields.at("pruned_heads").empty()) {
    fields.fail_field("pruned_heads", "pruned heads are not supported");
  }
}

kernels::Activation read_activation(const JsonFields& fields, const char* field,
                                    const char* fallback) {
  using kernels::Activation;
  struct Row {
    const char* name;
    Activation activation;
  };
  static constexpr std::array<Row, 10> kRows = {{{"gelu", Activation::gelu},
                                                 {"gelu_python", Activation::gelu},
                                                 {"gelu_new", Activation::gelu_tanh},
                                                 {"gelu_fast", Activation::gelu_tanh},
                                                 {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                                 {"relu", Activation::relu},
                                                 {"silu", Activation::silu},
                                                 {"swish", Activation::silu},
                                                 {"tanh", Activation::tanh},
                                                 {"linear", Activation::none}}};
  const std::string name = fields.string(field, fallback);
  for (const Row& row : kRows) {
    if (name == row.name) return row.activation;
  }
  fields.fail_field(field, "expected gelu, gelu_new, relu, silu or tanh");
}

float read_dropout(const JsonFields& fields, const char* field, double fallback) {
  const double p = fields.number(field, fallback);
  if (!(p >= 0 && p < 1)) fields.fail_field(field, "expected a probability below 1");
  return static_cast<float>(p);
}

std::unique_ptr<ModelConfig> read_model_config(const Json& json, const std::string& file) {
  const JsonFields fields(json, file);
  const Family& family = find_family(fields);
  std::unique_ptr<ModelConfig> config = family.read_config(fields);
  config->model_type = family.model_type;
  config->initializer_range = static_cast<float>(fields.number("initializer_range", 0.02));
  if (!(config->initializer_range >= 0 && config->initializer_range < 1)) {
    fields.fail_field("initializer_range", "expected a number from 0 to 1");
  }
  config->labels = read_labels(fields);
  config->labels_named = are_named(config->labels);
  config->problem = read_problem(fields, config->labels.size());
  config->quantization = read_quantization(fields, *config);
  config->exits = read_exits(fields);
  return config;
}

EncoderConfig read_config(const Json& json, const std::string& file) {
  const std::unique_ptr<ModelConfig> config = read_model_config(json, file);
  const auto* encoder = dynamic_cast<const EncoderConfig*>(config.get());
  if (!encoder) {
    fail(ErrorKind::unsupported, "{}: model_type: {} is no text encoder", file,
         quote(config->model_type));
  }
  return *encoder;
}

std::string EncoderConfig::summary() const {
  return fmt::format("{} {} layers {} hidden {} words", model_type, layers, hidden_size,
                     vocab_size);
}

void write_labels(const ModelConfig& config, Json& json) {
  static constexpr std::array<const char*, 3> kProblems = {
      "single_label_classification", "multi_label_classification", "regression"};
  Json names = Json::object();
  Json ids = Json::object();
  for (size_t i = 0; i < config.labels.size(); ++i) {
    names[std::to_string(i)] = config.labels[i];
    ids[config.labels[i]] = i;
  }
  json["id2label"] = std::move(names);
  json["label2id"] = std::move(ids);
  json["problem_type"] = kProblems[static_cast<size_t>(config.problem)];
  write_exits(config.exits, json);
}

}  // namespace hone::models
