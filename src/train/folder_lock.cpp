#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file_calls.h"

namespace hone::train {
namespace {

namespace fs = std::filesystem;

void remove_leftovers(const std::string& folder) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find(".partial-") == std::string::npos) continue;
    remove_tree(entry.path().string());
  }
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  if (!make_folders(folder)) {
    fail(creation_error_kind(errno), "{}: cannot create: {}", folder,
         std::generic_category().message(errno));
  }
  const std::string path = folder + "/.lock";
  fd_ = create_file(path, 0);
  if (fd_ < 0) {
    fail(creation_error_kind(errno), "{}: cannot create: {}", path,
         std::generic_category().message(errno));
  }
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    fail(ErrorKind::usage, "output: {} is in use by another run", quote(folder));
  }
  remove_leftovers(folder);
  remove_leftovers(folder + "/tokens");
}

FolderLock::~FolderLock() { ::close(fd_); }

}  // namespace hone::train
