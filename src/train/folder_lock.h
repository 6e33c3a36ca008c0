#pragma once

#include <string>

namespace hone::train {

/// A folder that one run alone writes to. The lock ends with the process, however that ends.
class FolderLock {
 public:
  /// Locks the folder, and makes it where it is missing. A folder that another run holds is a usage
  /// error that names it. Half-written files that killed runs left, here and in tokens/, are
  /// removed.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace hone::train
