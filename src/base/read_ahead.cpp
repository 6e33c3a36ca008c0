#include "base/read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

constexpr uint64_t kStep = 1 << 20;

/// Pages go from a file through a pipe to nowhere: none is copied, and the system reads ahead as
/// for any reader, in large pages. (posix_fadvise(WILLNEED) fills the cache with single ones:
/// 438 MB took 150 ms of processor time, and this takes 15.)
class Drain {
 public:
  /// The file is opened once more: the system foresees by opened file what is read next, and this
  /// one's other readers go their own ways.
  explicit Drain(int file)
      : file_(::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_CLOEXEC)),
        nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    if (::pipe2(pipe_, O_CLOEXEC) != 0) pipe_[0] = pipe_[1] = -1;
    if (pipe_[1] >= 0) ::fcntl(pipe_[1], F_SETPIPE_SZ, static_cast<int>(kStep));
  }
  ~Drain() {
    for (const int fd : {file_, nowhere_, pipe_[0], pipe_[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// How many bytes went; 0 where none can.
  uint64_t take(uint64_t offset, uint64_t bytes) {
    auto from = static_cast<off64_t>(offset);
    const ssize_t came = ::splice(file_, &from, pipe_[1], nullptr, std::min(bytes, kStep), 0);
    for (ssize_t left = came; left > 0;) {
      const ssize_t went =
          ::splice(pipe_[0], nullptr, nowhere_, nullptr, static_cast<size_t>(left), 0);
      if (went <= 0) return 0;
      left -= went;
    }
    return came > 0 ? static_cast<uint64_t>(came) : 0;
  }

 private:
  int file_, nowhere_;
  int pipe_[2] = {-1, -1};
};

}  // namespace

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

uint64_t ReadAhead::want(uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  parts_.push_back({offset, bytes});
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  asked_.notify_one();
  return ++wanted_;
}

void ReadAhead::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= number; });
}

bool ReadAhead::next(Part& part) {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [&] { return stop_ || !parts_.empty(); });
  if (stop_) return false;
  part = parts_.front();
  parts_.pop_front();
  return true;
}

void ReadAhead::finish() {
  const std::lock_guard lock(mutex_);
  ++finished_;
  done_.notify_all();
}

bool ReadAhead::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void ReadAhead::work() {
  Drain drain(file_.descriptor());
  uint64_t at = 0;
  for (Part part{}; next(part); finish()) {
    const uint64_t end = part.offset + part.bytes;
    // Over a gap, for a step aside begins anew, with single pages.
    if (at > end || at + kStep < part.offset) at = part.offset;
    while (at < end && !stopped()) {
      const uint64_t went = drain.take(at, end - at);
      if (went == 0) break;
      at += went;
    }
  }
}

}  // namespace hone
