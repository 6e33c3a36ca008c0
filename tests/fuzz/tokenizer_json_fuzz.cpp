// tokenizer.json: any bytes are either a tokenizer that encodes, or an error.
// layers: text
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::text;
  try {
    const Tokenizer tokenizer =
        Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "tokenizer.json");
    EncodeOptions options;
    options.truncation = tokenizer.truncation();
    for (const std::string_view text : {"Hello, w\xC3\xB6rld! don't [MASK] a\xCC\x81\xCC\xA3  "
                                        "\xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x91\x8D",
                                        "", "\xFF\xED\xA0\x80 a"}) {
      const Encoding encoding = tokenizer.encode({text, "pair"}, options);
      for (size_t i = 0; i < encoding.size(); ++i) tokenizer.token(encoding, i);
    }
  } catch (const hone::Error&) {
  }
  return 0;
}
