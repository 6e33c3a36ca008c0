#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hone {

/// Runs `read`, which may refuse what it reads with an Error that is no internal one and whose one
/// line begins with `origin`; gives whether it did not refuse. Anything else ends the process.
template <typename Read>
bool accepts(std::string_view origin, Read&& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    const std::string message = error.what();
    if (error.kind() == ErrorKind::internal || !message.starts_with(origin) ||
        message.find('\n') != std::string::npos) {
      std::abort();
    }
    return false;
  }
}

}  // namespace hone
