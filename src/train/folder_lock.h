#pragma once

#include <string>

namespace hone::train {

/// A folder that one run alone writes to. The lock ends with the process, however that ends.
class FolderLock {
 public:
  /// Makes the folder where it is missing. One that another run holds is a usage error that names
  /// it. What runs that were killed left half written is removed.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace hone::train
