#pragma once

#include <string>

#include "base/error.h"

namespace hone::comm {

/// The error of every rank where one was lost or failed, or where they have come apart. One rank
/// tells the user; the others end silently.
class RunFailed : public Error {
 public:
  RunFailed(const std::string& why, bool told_here)
      : Error(ErrorKind::failed, why), told_here_(told_here) {}
  bool told_here() const { return told_here_; }

 private:
  bool told_here_;
};

}  // namespace hone::comm
