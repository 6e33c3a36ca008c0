// layers: serve
// A method, a space, and a path.
#include "fuzz/serve_checks.h"
#include "serve/router.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone::serve;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t space = std::min(text.find(' '), text.size());
  const std::string_view path = text.substr(std::min(space + 1, text.size()));
  takes([&] {
    const RouteMatch match = find_route(text.substr(0, space), path);
    require(match.entry != nullptr);
    require(format_of(path) == match.entry->format || path.starts_with("/models/"));
  });
  return 0;
}
