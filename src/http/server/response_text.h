#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "http/http.h"

namespace hone::http {

enum class Persistence {
  implied,     ///< HTTP/1.1 goes on without a word
  keep_alive,  ///< HTTP/1.0, which must be told
  close
};

/// Whether a response of that status has a body at all.
bool has_body(int status);

/// A response up to its body. Control characters in header values become spaces, so that no value
/// can end its line. `date` is the value of Date.
std::string response_head(const Response& response, Persistence persistence, std::string_view date);

/// A moment as Date has it: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::time_t time);

}  // namespace hone::http
