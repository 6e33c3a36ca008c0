#pragma once

#include <cstdint>

namespace hone::models {

/// The settings of a self-explaining head, which stand in its config.json.
struct ExplainSettings {
  int64_t neighbours = 5;      ///< concepts that are retrieved for a text
  int64_t heads = 8;           ///< heads of the attention over them; they divide the width
  int64_t concept_words = 5;   ///< most words of a concept
  double local_weight = 0.1;   ///< weight of the phrases' logits
  double global_weight = 0.1;  ///< weight of the concepts' logits

  bool operator==(const ExplainSettings&) const = default;
};

}  // namespace hone::models
