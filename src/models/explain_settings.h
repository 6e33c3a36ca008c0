#pragma once

#include <cstdint>

namespace hone::models {

/// The settings of a self-explaining head, which stand in its config.json.
struct ExplainSettings {
  int64_t neighbours = 5;      ///< concepts that are retrieved for a text
  int64_t heads = 8;           ///< of the attention over them; divides the width
  int64_t concept_words = 5;   ///< most words of a concept
  double local_weight = 0.1;   ///< of the phrases' logits in the answer
  double global_weight = 0.1;  ///< of the concepts' logits in the answer

  bool operator==(const ExplainSettings&) const = default;
};

}  // namespace hone::models
