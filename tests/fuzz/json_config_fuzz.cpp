// layers: base
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace {

/// Runs `read`; it may refuse, in one line that names the file.
template <typename Read>
void attempt(Read&& read) {
  try {
    read();
  } catch (const hone::Error& error) {
    const std::string message = error.what();
    if (!message.starts_with("config.json: ") || message.find('\n') != std::string::npos) {
      std::abort();
    }
  }
}

void read_fields(const hone::JsonFields& fields, int depth) {
  for (const char* name : {"hidden_size", "a", "", "id2label"}) {
    attempt([&] {
      const int64_t value = fields.integer(name, -3, 1000, 7);
      if (value < -3 || value > 1000) std::abort();
    });
    attempt([&] { fields.integer(name, INT64_MIN, INT64_MAX); });
    attempt([&] { static_cast<void>(std::isnan(fields.number(name, 0.5))); });
    attempt([&] { fields.boolean(name); });
    attempt([&] { fields.string(name, "gelu"); });
    if (depth > 0) attempt([&] { read_fields(fields.object(name), depth - 1); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const hone::Json json = hone::parse_json(text, "config.json");
    read_fields(hone::JsonFields(json, "config.json"), 2);
  });
  return 0;
}
