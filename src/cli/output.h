#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"

namespace hone::cli {

/// Standard output was closed by whoever read it. It is no error: nobody is left to tell.
struct ReaderGone {};

/// Writes results to standard output, a device or a pipe, as they come; or a file, which appears
/// complete on finish() or not at all.
class Output {
 public:
  /// Opens a path; an empty one or "-" is standard output.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  /// Lets others read what was written now; a file is readable only from finish() on.
  void flush();
  void finish();

 private:
  std::string name_;
  std::optional<OutputFile> file_;
  int descriptor_ = -1;
  std::string buffer_;
};

/// Writes all of `text` to standard output.
void print(std::string_view text);

/// Gives one line with its end. Bytes that are no UTF-8, as a path may have, become U+FFFD.
std::string json_line(const Json& json);

}  // namespace hone::cli
