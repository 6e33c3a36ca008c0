// layers: base
#include <cmath>

#include "base/json.h"
#include "fuzz/refusal.h"

namespace {

constexpr const char* kOrigin = "config.json: ";

void read_fields(const hone::JsonFields& fields, int depth) {
  for (const char* name : {"hidden_size", "a", "", "id2label"}) {
    hone::accepts(kOrigin, [&] {
      const int64_t value = fields.integer(name, -3, 1000, 7);
      if (value < -3 || value > 1000) std::abort();
    });
    hone::accepts(kOrigin, [&] { fields.integer(name, INT64_MIN, INT64_MAX); });
    hone::accepts(kOrigin, [&] { static_cast<void>(std::isnan(fields.number(name, 0.5))); });
    hone::accepts(kOrigin, [&] { fields.boolean(name); });
    hone::accepts(kOrigin, [&] { fields.string(name, "gelu"); });
    if (depth > 0) hone::accepts(kOrigin, [&] { read_fields(fields.object(name), depth - 1); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  hone::accepts(kOrigin, [&] {
    const hone::Json json = hone::parse_json(text, "config.json");
    read_fields(hone::JsonFields(json, "config.json"), 2);
  });
  return 0;
}
