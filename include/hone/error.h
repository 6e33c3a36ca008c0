#pragma once

#include <stdexcept>
#include <string>

namespace hone {

/// Says what went wrong, for whoever maps it to an exit code or an HTTP status (cli/exit_code.h).
enum class ErrorKind {
  usage,        ///< a bad flag or argument
  bad_file,     ///< a file whose contents are wrong: weights, config, tokenizer, data
  unsupported,  ///< well formed, but asks for something hone does not do
  io,           ///< the system refused: full disk, read error
  memory,       ///< more memory was needed than there is
  failed,       ///< the work itself came to nothing: a loss that is no number
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

}  // namespace hone
