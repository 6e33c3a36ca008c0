// layers: text
#include "fuzz/refusal.h"
#include "fuzz/tokenizer_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::text;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hone::accepts("", [&] { encode_samples(Tokenizer::parse(text, "tokenizer.json")); });
  return 0;
}
