#pragma once

#include <string>
#include <vector>

#include "models/batch.h"

namespace hone::infer {

inline const std::string kModels = HONE_TEST_DIR "/../models/goldens/";

/// Sequences of 1 to 9 tokens.
inline models::TextBatch nine_sequences(const models::ModelConfig& model) {
  const auto& config = dynamic_cast<const models::EncoderConfig&>(model);
  models::TextBatch batch(config);
  for (int32_t length = 1; length <= 9; ++length) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < length; ++i) {
      ids.push_back(3 + (7 * length + 5 * i) % (static_cast<int32_t>(config.vocab_size) - 3));
    }
    batch.add(ids);
  }
  return batch;
}

}  // namespace hone::infer
