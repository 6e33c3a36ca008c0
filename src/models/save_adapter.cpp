#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "models/save.h"

namespace hone::models {
namespace {

bool is_pooler(const Family& family, const std::string& name) {
  return family.has_pooler && name.starts_with(family.head_dense + ".");
}

/// Lists the targets as PEFT would have saved them: "all-linear" becomes the layers' names.
std::vector<std::string> target_names(const Model& model) {
  const std::vector<std::string>& targets = model.lora()->targets;
  if (targets != std::vector<std::string>{"all-linear"}) return targets;
  std::set<std::string> names;
  const std::string ending = nn::kLoraA;
  for (const nn::Parameter& parameter : model.parameters().list()) {
    const std::string name = checkpoint_name(model.family(), parameter.tensors.front());
    if (name.ends_with(ending)) names.insert(name.substr(0, name.size() - ending.size()));
  }
  return {names.begin(), names.end()};
}

Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

bool is_adapter_or_head(const Model& model, const nn::Parameter& parameter) {
  const std::string& name = parameter.tensors.front();
  return nn::is_lora(name) || is_head(model.family(), name);
}

/// Says whether a slot is the pooler's own, and trained beside the adapters.
bool is_trained_pooler(const Model& model, const std::vector<bool>& trainable,
                       const nn::Parameter& parameter) {
  return trainable[static_cast<size_t>(parameter.weight.slot)] &&
         !is_adapter_or_head(model, parameter) &&
         is_pooler(model.family(), parameter.tensors.front());
}

}  // namespace

ArrayFile adapter_file(const Model& model, const std::vector<bool>& trainable) {
  ArrayFile file{"adapter_model.safetensors", {}, [&model](const std::string& name) {
                   return "base_model.model." +
                          (model.has_head() ? checkpoint_name(model.family(), name) : name);
                 }};
  for (const nn::Parameter& parameter : model.parameters().list()) {
    if (is_adapter_or_head(model, parameter) || is_trained_pooler(model, trainable, parameter)) {
      file.parameters.push_back(&parameter);
    } else if (trainable[static_cast<size_t>(parameter.weight.slot)]) {
      fail(ErrorKind::internal, "{} is trained beside adapters and has no place in their files",
           parameter.tensors.front());
    }
  }
  return file;
}

Json adapter_config(const Model& model, const std::vector<bool>& trainable,
                    const std::string& base) {
  // PEFT names these for every classifier; it takes names that end so, "pre_classifier" among them.
  Json modules_to_save = {"classifier", "score"};
  const auto& all = model.parameters().list();
  if (std::any_of(all.begin(), all.end(), [&](const nn::Parameter& parameter) {
        return is_trained_pooler(model, trainable, parameter);
      })) {
    modules_to_save.push_back("pooler");
  }
  const nn::LoraOptions& lora = *model.lora();
  return {{"peft_type", "LORA"},
          {"task_type", model.has_head() ? "SEQ_CLS" : "FEATURE_EXTRACTION"},
          {"base_model_name_or_path", base},
          {"revision", nullptr},
          {"inference_mode", true},
          {"r", lora.rank},
          {"lora_alpha", number(lora.alpha)},
          {"lora_dropout", lora.dropout},
          {"target_modules", target_names(model)},
          {"modules_to_save", modules_to_save},
          {"bias", "none"},
          {"fan_in_fan_out", false},
          {"init_lora_weights", true},
          {"rank_pattern", Json::object()},
          {"alpha_pattern", Json::object()},
          {"use_rslora", false},
          {"use_dora", false}};
}

void save_adapter(const Model& model, const std::vector<bool>& trainable, const std::string& base,
                  const std::string& folder) {
  save_arrays(adapter_file(model, trainable), weights_of(model), folder);
  write_json(folder + "/adapter_config.json", adapter_config(model, trainable, base));
}

}  // namespace hone::models
