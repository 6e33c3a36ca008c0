#include "base/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace hone {
namespace {

namespace fs = std::filesystem;

std::atomic<FileCallHook*> current_hook{nullptr};

/// Says what a hook makes of a call; without a value the call is to be made.
std::optional<int> hooked(FileCall call, const std::string& path, const std::string& to = {}) {
  FileCallHook* hook = current_hook.load(std::memory_order_acquire);
  return hook ? hook->before(call, path, to) : std::nullopt;
}

bool succeeds(int error) {
  if (error != 0) errno = error;
  return error == 0;
}

bool remove_folder(const std::string& path) {
  if (const auto error = hooked(FileCall::remove, path)) return succeeds(*error);
  return ::rmdir(path.c_str()) == 0;
}

}  // namespace

void set_file_call_hook(FileCallHook* hook) { current_hook.store(hook, std::memory_order_release); }

int create_file(const std::string& path, int flags) {
  if (const auto error = hooked(FileCall::create, path); error && !succeeds(*error)) return -1;
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
}

bool make_folder(const std::string& path) {
  if (const auto error = hooked(FileCall::make_folder, path)) return succeeds(*error);
  return ::mkdir(path.c_str(), 0777) == 0;
}

bool make_folders(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  const std::string parent = folder_of(path);
  if (parent != path && !make_folders(parent)) return false;
  return (make_folder(path) || errno == EEXIST) && sync_folder(parent);
}

bool write_bytes(int descriptor, const std::string& path, std::string_view bytes) {
  if (const auto error = hooked(FileCall::write, path)) return succeeds(*error);
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool sync_file(int descriptor, const std::string& path) {
  if (const auto error = hooked(FileCall::sync, path)) return succeeds(*error);
  return ::fsync(descriptor) == 0 || errno == EINVAL;
}

bool sync_folder(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno == EACCES;
  const bool done = sync_file(descriptor, path);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return done;
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

bool rename_path(const std::string& from, const std::string& to) {
  if (const auto error = hooked(FileCall::rename, from, to)) return succeeds(*error);
  return ::rename(from.c_str(), to.c_str()) == 0;
}

bool link_path(const std::string& from, const std::string& to) {
  if (const auto error = hooked(FileCall::link, from, to)) return succeeds(*error);
  return ::link(from.c_str(), to.c_str()) == 0;
}

bool remove_file(const std::string& path) {
  if (const auto error = hooked(FileCall::remove, path)) return succeeds(*error);
  return ::unlink(path.c_str()) == 0;
}

bool remove_tree(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT;
  if (!S_ISDIR(info.st_mode)) return remove_file(path) || errno == ENOENT;
  std::error_code error;
  std::vector<std::string> inside;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    inside.push_back(entry->path().string());
  }
  if (error) return succeeds(error.value());
  for (const std::string& each : inside) {
    if (!remove_tree(each)) return false;
  }
  return remove_folder(path) || errno == ENOENT;
}

ErrorKind creation_error_kind(int error) {
  const bool disk = error == ENOSPC || error == EDQUOT || error == EIO;
  return disk ? ErrorKind::io : ErrorKind::usage;
}

}  // namespace hone
