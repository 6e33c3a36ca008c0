#pragma once

#include "base/error.h"

namespace hone::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUserError = 2;
inline constexpr int kInterrupted = 130;

/// The one place that maps what went wrong to an exit code.
inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_file:
    case ErrorKind::unsupported:
      return kUserError;
    case ErrorKind::io:
    case ErrorKind::memory:
    case ErrorKind::failed:
    case ErrorKind::internal:
      return kFailed;
  }
  return kFailed;
}

}  // namespace hone::cli
