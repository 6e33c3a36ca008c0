#include "models/freeze.h"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"

namespace hone::models {
namespace {

struct Pattern {
  std::string text;
  bool used = false;
};

std::vector<Pattern> split(std::string_view text) {
  std::vector<Pattern> patterns;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) patterns.push_back({std::string(text.substr(0, comma))});
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return patterns;
}

/// Says whether a pattern matches; marks every pattern that does.
bool matches(std::vector<Pattern>& patterns, const std::string& name) {
  bool any = false;
  for (Pattern& pattern : patterns) {
    if (fnmatch(pattern.text.c_str(), name.c_str(), 0) != 0) continue;
    pattern.used = any = true;
  }
  return any;
}

bool is_frozen(const Family& family, const nn::Parameter& parameter,
               std::vector<Pattern>& patterns) {
  std::string frozen;
  std::string trained;
  for (const std::string& tensor : parameter.tensors) {
    const std::string name = checkpoint_name(family, tensor);
    (matches(patterns, name) ? frozen : trained) = name;
  }
  if (!frozen.empty() && !trained.empty()) {
    fail(ErrorKind::usage, "freeze: {} cannot be frozen without {}: they are kept in one piece",
         frozen, trained);
  }
  return trained.empty();
}

/// Fails where a weight that is trained beside adapters, and so saved whole, has an adapter: PEFT
/// puts none into it.
void check_adapter(const Model& model, const std::string& weight) {
  const std::string_view ending = ".weight";
  if (!weight.ends_with(ending)) return;
  const std::string adapter = weight.substr(0, weight.size() - ending.size()) + nn::kLoraA;
  for (const nn::Parameter& parameter : model.parameters().list()) {
    if (parameter.tensors.front() != adapter) continue;
    fail(ErrorKind::usage, "lora.targets: {} is new, and trained without an adapter",
         checkpoint_name(model.family(), weight));
  }
}

}  // namespace

std::vector<bool> trainable_slots(const Model& model, const std::string& freeze,
                                  const std::vector<bool>& added) {
  std::vector<Pattern> patterns = split(freeze);
  std::vector<bool> trainable;
  for (const nn::Parameter& parameter : model.parameters().list()) {
    const std::string& name = parameter.tensors.front();
    const bool is_added = trainable.size() < added.size() && added[trainable.size()];
    const bool base =
        model.lora() && !nn::is_lora(name) && !is_head(model.family(), name) && !is_added;
    if (model.lora() && !nn::is_lora(name) && !base) check_adapter(model, name);
    const bool frozen = is_frozen(model.family(), parameter, patterns);
    const bool state = parameter.kind == nn::ParameterKind::state;
    trainable.push_back(!base && !frozen && !state);
  }
  for (const Pattern& pattern : patterns) {
    if (!pattern.used) {
      fail(ErrorKind::usage, "freeze: {} matches no weight of the model; one is {}",
           quote(pattern.text),
           checkpoint_name(model.family(), model.parameters().list().back().tensors.front()));
    }
  }
  if (std::find(trainable.begin(), trainable.end(), true) == trainable.end()) {
    fail(ErrorKind::usage, "freeze: {} leaves nothing to train", quote(freeze));
  }
  return trainable;
}

}  // namespace hone::models
