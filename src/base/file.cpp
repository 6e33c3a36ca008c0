#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file_calls.h"
#include "base/function_ref.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string reason() { return std::strerror(errno); }

/// Names a file beside `path` that is this process's alone.
std::string partial_name(const std::string& path) {
  return path + ".partial-" + std::to_string(::getpid());
}

/// The partial files and folders that this process has now. They are created, renamed and removed
/// under one lock: none appears, or becomes complete, while all are being removed.
class Partials {
 public:
  /// Creates a partial output by `make`; where that fails, errno says why.
  bool create(const std::string& name, FunctionRef<bool()> make) {
    const std::lock_guard lock(mutex_);
    if (!make()) return false;
    names_.insert(name);
    return true;
  }
  void drop(const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_.erase(name);
  }
  /// Renames a complete output to its final name.
  bool publish(const std::string& name, const std::string& path) {
    const std::lock_guard lock(mutex_);
    return rename_path(name, path);
  }
  void remove_all(bool for_good) {
    std::unique_lock lock(mutex_);
    for (const std::string& name : names_) remove_tree(name);
    if (for_good) lock.release();  // who begins one now waits for the end
  }

 private:
  std::mutex mutex_;
  std::set<std::string> names_;
};

Partials& partials() {
  static Partials all;
  return all;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail(ErrorKind::bad_file, "{}: cannot open: {}", path, reason());
  struct stat info {};
  if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(std::exchange(fd_, -1));
    fail(ErrorKind::bad_file, "{}: not a regular file", path);
  }
  size_ = static_cast<uint64_t>(info.st_size);
  changed_at_ = change_time();
}

int64_t InputFile::change_time() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) fail(ErrorKind::io, "{}: cannot look at: {}", path_, reason());
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

bool InputFile::changed() const { return change_time() != changed_at_; }

void InputFile::will_need(uint64_t offset, uint64_t bytes) const {
  // The result is not looked at: without it reading is only slower.
  ::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      changed_at_(other.changed_at_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void InputFile::read(uint64_t offset, void* out, size_t bytes) const {
  char* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, "{}: cannot read at byte {}: {}", path_, offset, reason());
    if (got == 0)
      fail(ErrorKind::bad_file, "{}: ends at byte {}, more was expected", path_, offset);
    to += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
}

std::string read_file(const std::string& path, uint64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    fail(ErrorKind::bad_file, "{}: {} bytes, more than the limit of {}", path, file.size(), limit);
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool folder_exists(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

OutputFile::OutputFile(const std::string& path, size_t buffer_bytes)
    : path_(path), partial_(partial_name(path)), buffer_bytes_(buffer_bytes) {
  const bool created = partials().create(partial_, [&] {
    fd_ = create_file(partial_, O_TRUNC);
    return fd_ >= 0;
  });
  if (!created) fail(creation_error_kind(errno), "{}: cannot create: {}", path, reason());
  buffer_.reserve(buffer_bytes_);
}

OutputFile::~OutputFile() {
  partials().drop(partial_);
  if (fd_ < 0) return;
  ::close(fd_);
  remove_file(partial_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), buffer_bytes_ - buffer_.size());
    buffer_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (buffer_.size() == buffer_bytes_) flush();
  }
}

void OutputFile::flush() {
  if (buffer_.empty()) return;
  if (!write_bytes(fd_, partial_, buffer_)) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, reason());
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (!sync_file(fd_, partial_)) fail(ErrorKind::io, "{}: cannot write: {}", path_, reason());
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 || !partials().publish(partial_, path_)) {
    const std::string why = reason();
    remove_file(partial_);
    fail(ErrorKind::io, "{}: cannot write: {}", path_, why);
  }
  if (!sync_folder(folder_of(path_))) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, reason());
  }
}

void write_file(const std::string& path, std::string_view contents) {
  OutputFile file(path);
  file.write(contents);
  file.commit();
}

bool link_file(const std::string& from, const std::string& to) {
  const std::string partial = partial_name(to);
  remove_file(partial);  // a process of the same number may have left one
  if (!partials().create(partial, [&] { return link_path(from, partial); })) return false;
  const bool published = partials().publish(partial, to);
  partials().drop(partial);
  remove_file(partial);  // renaming one name of a file to another of it leaves both
  if (!published) return false;
  if (!sync_folder(folder_of(to))) fail(ErrorKind::io, "{}: cannot write: {}", to, reason());
  return true;
}

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  partial_ = partial_name(path_);
  std::error_code error;
  if (fs::exists(path_, error) && !(fs::is_directory(path_, error) && fs::is_empty(path_, error))) {
    fail(ErrorKind::usage, "{}: exists and is not an empty folder", path_);
  }
  remove_tree(partial_);
  if (!make_folders(folder_of(path_)) ||
      !partials().create(partial_, [&] { return make_folder(partial_); })) {
    fail(creation_error_kind(errno), "{}: cannot create: {}", path_, reason());
  }
}

OutputFolder::~OutputFolder() {
  partials().drop(partial_);
  if (!committed_) remove_tree(partial_);
}

void OutputFolder::commit() {
  // The rename replaces an empty folder at the new name; anything else there makes it fail.
  if (!sync_folder(partial_) || !partials().publish(partial_, path_)) {
    fail(ErrorKind::io, "{}: cannot rename into place: {}", path_, reason());
  }
  committed_ = true;
  if (!sync_folder(folder_of(path_))) {
    fail(ErrorKind::io, "{}: cannot write: {}", path_, reason());
  }
}

void remove_partial_output(bool for_good) { partials().remove_all(for_good); }

}  // namespace hone
