// Opens libhone_http.so, which holds the server.

#include "http/http.h"

#include <algorithm>

#include "base/error.h"
#include "base/library.h"
#include "base/plugin.h"
#include "base/version.h"
#include "http/plugin.h"

namespace hone::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

const Plugin& plugin() {
  static const Plugin& opened = load_plugin(plugin_path("HONE_HTTP_PLUGIN", "libhone_http.so"));
  return opened;
}

}  // namespace

const Plugin& load_plugin(const std::string& path) {
  const Library library = open_library(path);
  if (!library.handle) {
    fail(ErrorKind::unsupported, "the HTTP library cannot be opened: {}", library.missing);
  }
  const auto entry = find_function<PluginEntry>(library, kPluginEntry);
  const Plugin* found = entry ? entry() : nullptr;
  if (!found) fail(ErrorKind::unsupported, "{} is not the HTTP library of hone", path);
  if (found->interface != kPluginInterface || std::string_view(found->version) != kVersion) {
    fail(ErrorKind::unsupported,
         "{} is the HTTP library of another hone (version {}, interface {}; this one is {}, {})",
         path, found->version, found->interface, kVersion, kPluginInterface);
  }
  return *found;
}

const std::string* Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (std::ranges::equal(header.name, name, {}, lower, lower)) return &header.value;
  }
  return nullptr;
}

std::unique_ptr<Server> open_server(const ServerOptions& options, Handler& handler) {
  return std::unique_ptr<Server>(plugin().open(options, handler));
}

}  // namespace hone::http
