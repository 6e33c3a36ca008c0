#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

void remove_leftovers(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find(".partial-") == std::string::npos) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ErrorKind::usage, "{}: cannot create: {}", folder, error.message());
  const std::string path = folder + "/.lock";
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    fail(ErrorKind::usage, "{}: cannot create: {}", path, std::generic_category().message(errno));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    fail(ErrorKind::usage, "--output_dir: {} is in use by another run", quote(folder));
  }
  remove_leftovers(folder);
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace hone::train
