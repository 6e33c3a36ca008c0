#include "models/adapter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"

namespace hone::models {
namespace {

constexpr uint64_t kMaxConfigBytes = 16 << 20;
constexpr const char* kConfig = "/adapter_config.json";
constexpr const char* kPrefix = "base_model.model.";

/// Fields that, where set, mean another computation than ours.
constexpr std::array kForeign = {
    "use_dora",          "use_qalora",        "use_bdlora",
    "lora_bias",         "layer_replication", "alora_invocation_tokens",
    "alpha_pattern",     "target_parameters", "trainable_token_indices",
    "kasa_config",       "lora_ga_config",    "arrow_config",
    "monteclora_config", "velora_config"};

bool is_set(const Json& value) { return !(value.is_null() || value == false || value.empty()); }

/// Says whether adapters start from the base's weights as they are; some ways to start change them.
bool leaves_base(const Json& init) {
  return init.is_boolean() || init == "gaussian" || init == "eva" || init == "orthogonal" ||
         init == "true";
}

void check_config(const Json& json, const JsonFields& fields) {
  if (fields.string("peft_type") != "LORA") fields.fail_field("peft_type", "expected LORA");
  for (const char* field : kForeign) {
    if (fields.has(field) && is_set(json.at(field))) {
      fields.fail_field(field, "adapters with this are not supported");
    }
  }
  if (fields.has("init_lora_weights") && !leaves_base(json.at("init_lora_weights"))) {
    fields.fail_field("init_lora_weights", "adapters that change their base are not supported");
  }
}

std::vector<std::string> adapted_modules(const io::Weights& weights) {
  std::vector<std::string> modules;
  for (const io::TensorInfo& tensor : weights.tensors()) {
    const std::string name = adapted_name(tensor);
    const std::string_view ending = nn::kLoraA;
    if (name.ends_with(ending)) modules.push_back(name.substr(0, name.size() - ending.size()));
  }
  return modules;
}

std::unique_ptr<io::Weights> open_weights(const std::string& folder) {
  const std::string safetensors = folder + "/adapter_model.safetensors";
  const std::string pickle = folder + "/adapter_model.bin";
  return io::Weights::open(!file_exists(safetensors) && file_exists(pickle) ? pickle : safetensors);
}

}  // namespace

void LoraDelta::add(int64_t first, int64_t count, float* out) const {
  for (int64_t row = first; row < first + count; ++row, out += width) {
    for (int64_t j = 0; j < rank; ++j) {
      const float factor = scale * b[static_cast<size_t>(row * rank + j)];
      const float* from = a.data() + j * width;
      for (int64_t i = 0; i < width; ++i) out[i] += factor * from[i];
    }
  }
}

std::string adapted_name(const io::TensorInfo& tensor) {
  const std::string_view prefix = kPrefix;
  return tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : tensor.name;
}

bool is_adapter_folder(const std::string& folder) { return file_exists(folder + kConfig); }

Adapter::Adapter(const std::string& folder) {
  const std::string file = folder + kConfig;
  const Json json = parse_json(read_file(file, kMaxConfigBytes), file);
  const JsonFields fields(json, file);
  check_config(json, fields);
  base_ = fields.string("base_model_name_or_path");
  options_.rank = fields.integer("r", 1, kMaxWidth);
  options_.alpha = fields.number("lora_alpha");
  if (!std::isfinite(options_.alpha)) fields.fail_field("lora_alpha", "expected a number");
  options_.dropout = read_dropout(fields, "lora_dropout", 0);
  rank_stabilized_ = fields.boolean("use_rslora", false);
  ranks_differ_ = fields.has("rank_pattern") && is_set(json.at("rank_pattern"));
  weights_ = open_weights(folder);
  options_.targets = adapted_modules(*weights_);
}

const io::TensorInfo* Adapter::find(const Family& family, const std::string& name) const {
  for (const std::string& prefix : {family.prefix, std::string()}) {
    if (const io::TensorInfo* found = weights_->find(kPrefix + prefix + name)) return found;
  }
  return nullptr;
}

std::vector<float> Adapter::read(const io::TensorInfo& tensor) const {
  std::vector<float> values(static_cast<size_t>(tensor.elements));
  weights_->read(tensor, 0, tensor.elements, values.data());
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    fail(ErrorKind::bad_file, "{}: {}: holds a value that is not finite: {}",
         weights_->file_of(tensor), tensor.name, *bad);
  }
  return values;
}

std::shared_ptr<const LoraDelta> Adapter::delta(const Family& family, const std::string& name,
                                                const std::vector<int64_t>& shape) const {
  constexpr std::string_view kWeight = ".weight";
  if (!name.ends_with(kWeight)) return nullptr;
  const std::string module = name.substr(0, name.size() - kWeight.size());
  const io::TensorInfo* a = find(family, module + nn::kLoraA);
  const io::TensorInfo* b = find(family, module + nn::kLoraB);
  if (!a && !b) return nullptr;
  if (!a || !b) {
    fail(ErrorKind::bad_file, "{}: {}: has no {}", weights_->path(), (a ? a : b)->name,
         a ? "lora_B" : "lora_A");
  }
  const bool fits = shape.size() == 2 && a->shape.size() == 2 && b->shape.size() == 2 &&
                    a->shape[0] == b->shape[1] && a->shape[0] > 0 && a->shape[1] == shape[1] &&
                    b->shape[0] == shape[0];
  if (!fits || !is_floating(a->dtype) || !is_floating(b->dtype)) {
    fail(ErrorKind::bad_file, "{}: {}: its shapes do not fit the weight of {}", weights_->path(),
         a->name, module);
  }
  const int64_t rank = a->shape[0];
  if (rank != options_.rank && !ranks_differ_) {
    fail(ErrorKind::bad_file, "{}: {}: has rank {}, adapter_config.json says {}", weights_->path(),
         a->name, rank, options_.rank);
  }
  const auto divisor = static_cast<double>(rank);
  const double scale = options_.alpha / (rank_stabilized_ ? std::sqrt(divisor) : divisor);
  return std::make_shared<LoraDelta>(
      LoraDelta{rank, shape[1], static_cast<float>(scale), read(*a), read(*b)});
}

}  // namespace hone::models
