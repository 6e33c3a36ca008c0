#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"

namespace hone::cli {

/// Standard output was closed by whoever read it. Not an error: there is nobody left to tell.
struct ReaderGone {};

/// Where results go: standard output, a device or a pipe, as they come; or a file, which appears
/// complete on finish() or not at all.
class Output {
 public:
  /// Empty or "-": standard output.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  /// What was written can be read by others now; of a file only finish() does that.
  void flush();
  void finish();

 private:
  std::string name_;
  std::optional<OutputFile> file_;
  int descriptor_ = -1;
  std::string buffer_;
};

/// All of `text` to standard output.
void print(std::string_view text);

/// One line with its end. Bytes that are no UTF-8, as a path may have, become U+FFFD.
std::string json_line(const Json& json);

}  // namespace hone::cli
