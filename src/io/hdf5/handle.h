#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"

namespace hone::io {

/// Debian's HDF5 may be called by one thread at a time.
inline std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// Gives what HDF5 says of its last failure, in one line.
std::string hdf5_reason();

/// An identifier of HDF5 and what closes it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  /// Takes over `id`; a negative one is an Error of `kind` that begins with `what`.
  Handle(hid_t id, Close close, ErrorKind kind, const std::string& what) : id_(id), close_(close) {
    if (id < 0) fail(kind, "{}: {}", what, hdf5_reason());
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  operator hid_t() const { return id_; }  // NOLINT: it stands for the identifier

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Says in an Error what HDF5 refused.
inline void check_hdf5(herr_t result, ErrorKind kind, const std::string& what) {
  if (result < 0) fail(kind, "{}: {}", what, hdf5_reason());
}

}  // namespace hone::io
