#pragma once

#include <string>
#include <vector>

#include "models/family.h"
#include "nn/lora.h"

namespace hone::models {

/// Checks the options of adapters (usage errors name the flag) and fills in the family's targets.
nn::LoraOptions checked_lora(const Family& family, nn::LoraOptions options);

/// Says which of a family's linear layers get adapters, while one encoder is built. Layers of the
/// head are never offered: they are trained whole.
class LoraMatcher {
 public:
  LoraMatcher(const Family& family, const nn::LoraOptions& options);
  LoraMatcher(const LoraMatcher&) = delete;
  LoraMatcher& operator=(const LoraMatcher&) = delete;

  const nn::LoraTargets* targets() const { return &targets_; }
  /// Fails with kind usage where a target matched no layer; called when all layers are declared.
  void check() const;

 private:
  bool matches(const std::string& module);

  const Family& family_;
  nn::LoraTargets targets_;
  std::vector<bool> used_;            ///< by target
  std::vector<std::string> offered_;  ///< last parts of the layers' names
};

}  // namespace hone::models
