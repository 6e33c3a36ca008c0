#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBuffer = 1 << 16;

}  // namespace

Output::Output(const std::string& path) : name_(path) {
  std::signal(SIGPIPE, SIG_IGN);  // so that a closed pipe is an errno
  if (path.empty() || path == "-") {
    name_ = "standard output";
    descriptor_ = STDOUT_FILENO;
    return;
  }
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail(ErrorKind::usage, "{}: cannot write: is a folder", path);
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    file_.emplace(path);
    return;
  }
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    fail(ErrorKind::usage, "{}: cannot open: {}", path, std::strerror(errno));
  }
}

Output::~Output() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

void Output::write(std::string_view bytes) {
  if (file_) return file_->write(bytes);
  buffer_ += bytes;
  if (buffer_.size() >= kBuffer) flush();
}

void Output::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t put = ::write(descriptor_, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EPIPE) throw ReaderGone();
    if (put < 0) fail(ErrorKind::io, "{}: cannot write: {}", name_, std::strerror(errno));
    left.remove_prefix(static_cast<size_t>(put));
  }
  buffer_.clear();
}

void Output::finish() {
  if (file_) {
    file_->commit();
  } else {
    flush();
  }
}

void print(std::string_view text) {
  Output output("");
  output.write(text);
  output.finish();
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hone::cli
