#pragma once

#include "http/http.h"

namespace hone::http {

/// Raise it with every change of what lies between the program and libhone_http.so: this table and
/// the types of http.h.
inline constexpr int kPluginInterface = 2;
inline constexpr const char* kPluginEntry = "hone_http_plugin";

/// What libhone_http.so gives to whom it is opened by.
struct Plugin {
  int interface;        ///< kPluginInterface of the library
  const char* version;  ///< kVersion of the library
  /// Throws hone::Error; the caller owns the server.
  Server* (*open)(const ServerOptions& options, Handler& handler);
};

using PluginEntry = const Plugin* (*)();

/// Opens the library at that path, for good. One that is missing, is something else or belongs to
/// another hone is an Error of one line.
const Plugin& load_plugin(const std::string& path);

}  // namespace hone::http
