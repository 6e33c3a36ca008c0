// layers: models
#include "fuzz/refusal.h"
#include "models/config.h"

namespace {

/// What read_config accepts must be safe to build a model of.
void check(const hone::models::EncoderConfig& config) {
  const bool sound = config.vocab_size > 0 && config.hidden_size > 0 && config.heads > 0 &&
                     config.hidden_size % config.heads == 0 && config.embedding_size > 0 &&
                     config.intermediate_size > 0 && config.max_tokens() > 0 &&
                     config.depth() > 0 && !config.labels.empty();
  if (!sound) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hone::accepts("config.json: ", [&] {
    check(hone::models::read_config(hone::parse_json(text, "config.json"), "config.json"));
  });
  return 0;
}
