// What the program finds in libhone_http.so.

#include "http/plugin.h"

#include <exception>

#include "base/error.h"
#include "base/version.h"
#include "http/server/server.h"

namespace {

hone::http::Server* open(const hone::http::ServerOptions& options, hone::http::Handler& handler) {
  try {
    return new hone::http::HttpServer(options, handler);
  } catch (const hone::Error&) {
    throw;
  } catch (const std::exception& error) {  // Threads or the files of a loop are not to be had.
    hone::fail(hone::ErrorKind::io, "the HTTP server cannot start: {}", error.what());
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const hone::http::Plugin* hone_http_plugin() {
  static const hone::http::Plugin plugin = {hone::http::kPluginInterface, hone::kVersion, open};
  return &plugin;
}
