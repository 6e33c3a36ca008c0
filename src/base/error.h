#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hone {

/// What went wrong, for whoever maps it to an exit code or an HTTP status (cli/exit_code.h).
enum class ErrorKind {
  usage,        ///< a bad flag or argument
  bad_file,     ///< a file whose contents are wrong: weights, config, tokenizer, data
  unsupported,  ///< well formed, but asks for something hone does not do
  io,           ///< the system refused: full disk, read error
  memory,       ///< more memory was needed than there is
  internal,     ///< our own mistake
};

/// The one exception type of the library. The message is a single line that names the file, the
/// field and the value.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

template <typename... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

/// A value of the user's for an error message: in single quotes, control characters and invalid
/// UTF-8 escaped, cut after `limit` bytes, so that a message stays one readable line.
std::string quote(std::string_view value, size_t limit = 80);

}  // namespace hone
