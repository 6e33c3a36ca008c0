#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "explain/explanation.h"
#include "models/model_config.h"

namespace hone::infer {

/// Answers texts with reasons, whatever finds them.
class TextExplainer {
 public:
  TextExplainer() = default;
  virtual ~TextExplainer() = default;
  TextExplainer(const TextExplainer&) = delete;
  TextExplainer& operator=(const TextExplainer&) = delete;

  /// Explains the texts in their order. One call at a time. An explanation has the same bits in any
  /// company.
  virtual std::vector<explain::Explanation> explain(std::span<const std::string_view> texts) = 0;
  virtual const models::ModelConfig& config() const = 0;
  /// Gives the most tokens of a text.
  virtual int64_t max_tokens() const = 0;
};

}  // namespace hone::infer
