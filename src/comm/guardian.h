#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace hone::comm {

/// A small process that ends this one where it is stopped for longer than others wait for it: a
/// starter such as srun would wait for it for ever. It goes with this process. Made before other
/// threads.
class Guardian {
 public:
  /// The process is ended after so many seconds without a sign of life.
  explicit Guardian(double timeout);
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  /// Gives a sign of life.
  void beat();

 private:
  std::atomic<int64_t>* heard_ = nullptr;  ///< host_clock(), in memory that both share
  pid_t process_ = -1;
};

}  // namespace hone::comm
