#include "models/lora_targets.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hone::models {
namespace {

constexpr const char* kAllLinear = "all-linear";

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));  // npos + 1 is 0
}

std::string module_name(const Family& family, const std::string& module) {
  const std::string name = checkpoint_name(family, module + ".");
  return name.substr(0, name.size() - 1);
}

}  // namespace

nn::LoraOptions checked_lora(const Family& family, nn::LoraOptions options) {
  if (options.rank < 1 || options.rank > kMaxWidth) {
    fail(ErrorKind::usage, "lora.rank: expected 1 to {}, got {}", kMaxWidth, options.rank);
  }
  if (!(options.alpha > 0) || !std::isfinite(options.alpha)) {
    fail(ErrorKind::usage, "lora.alpha: expected a number above 0, got {}", options.alpha);
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    fail(ErrorKind::usage, "lora.dropout: expected a probability below 1, got {}", options.dropout);
  }
  if (options.targets.empty()) options.targets = family.lora_targets;
  if (options.targets.size() > 1 && std::find(options.targets.begin(), options.targets.end(),
                                              kAllLinear) != options.targets.end()) {
    fail(ErrorKind::usage, "lora.targets: {} stands alone", kAllLinear);
  }
  return options;
}

LoraMatcher::LoraMatcher(const Family& family, const nn::LoraOptions& options)
    : family_(family),
      targets_{options, [this](const std::string& module) { return matches(module); }},
      used_(options.targets.size(), false) {}

bool LoraMatcher::matches(const std::string& module) {
  const std::string part = last_part(module);
  if (std::find(offered_.begin(), offered_.end(), part) == offered_.end()) offered_.push_back(part);
  const std::string name = module_name(family_, module);
  bool any = false;
  const std::vector<std::string>& targets = targets_.options.targets;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] == kAllLinear || name == targets[i] || name.ends_with("." + targets[i])) {
      used_[i] = any = true;
    }
  }
  return any;
}

void LoraMatcher::check() const {
  for (size_t i = 0; i < used_.size(); ++i) {
    if (used_[i]) continue;
    fail(ErrorKind::usage, "lora.targets: no linear layer is called {}; there are {}",
         quote(targets_.options.targets[i]), fmt::join(offered_, ", "));
  }
}

}  // namespace hone::models
