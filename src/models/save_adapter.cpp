#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "models/save.h"

namespace hone::models {
namespace {

bool is_pooler(const Family& family, const std::string& name) {
  return family.has_pooler && name.starts_with(std::string(family.names.head_dense) + ".");
}

/// The targets as PEFT would have saved them: "all-linear" becomes the layers' names.
std::vector<std::string> target_names(const Encoder& encoder) {
  const std::vector<std::string>& targets = encoder.lora()->targets;
  if (targets != std::vector<std::string>{"all-linear"}) return targets;
  std::set<std::string> names;
  const std::string ending = nn::kLoraA;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    const std::string name = checkpoint_name(encoder.family(), parameter.tensors.front());
    if (name.ends_with(ending)) names.insert(name.substr(0, name.size() - ending.size()));
  }
  return {names.begin(), names.end()};
}

Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

Json adapter_config(const Encoder& encoder, const std::string& base, const Json& modules_to_save) {
  const nn::LoraOptions& lora = *encoder.lora();
  return {{"peft_type", "LORA"},
          {"task_type", encoder.has_head() ? "SEQ_CLS" : "FEATURE_EXTRACTION"},
          {"base_model_name_or_path", base},
          {"revision", nullptr},
          {"inference_mode", true},
          {"r", lora.rank},
          {"lora_alpha", number(lora.alpha)},
          {"lora_dropout", lora.dropout},
          {"target_modules", target_names(encoder)},
          {"modules_to_save", modules_to_save},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"rank_pattern", Json::object()},
          {"alpha_pattern", Json::object()},
          {"use_rslora", false},
          {"use_dora", false}};
}

}  // namespace

void save_adapter(const Encoder& encoder, const std::vector<bool>& trainable,
                  const std::string& base, const std::string& folder) {
  const Family& family = encoder.family();
  // What PEFT names for every classifier; it takes names that end so, "pre_classifier" among them.
  Json modules_to_save = {"classifier", "score"};
  std::vector<const nn::Parameter*> saved;
  for (const nn::Parameter& parameter : encoder.parameters().list()) {
    const std::string& name = parameter.tensors.front();
    const bool trains = trainable[static_cast<size_t>(parameter.weight.slot)];
    if (nn::is_lora(name) || is_head(family, name)) {
      saved.push_back(&parameter);
    } else if (trains && is_pooler(family, name)) {
      if (modules_to_save.size() == 2) modules_to_save.push_back("pooler");
      saved.push_back(&parameter);
    } else if (trains) {
      fail(ErrorKind::internal, "{} is trained beside adapters and has no place in their files",
           name);
    }
  }
  save_slots(encoder, saved, "base_model.model.", folder + "/adapter_model.safetensors");
  write_json(folder + "/adapter_config.json", adapter_config(encoder, base, modules_to_save));
}

}  // namespace hone::models
