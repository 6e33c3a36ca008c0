#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "hone/error.h"

namespace hone {

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// A value of the user's for an error message: in single quotes, control characters and invalid
/// UTF-8 escaped, cut after `limit` bytes, so that a message stays one readable line.
std::string quote(std::string_view value, size_t limit = 80);

}  // namespace hone
