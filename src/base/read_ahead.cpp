#include "base/read_ahead.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace hone {
namespace {

constexpr uint64_t kStep = 1 << 20;

/// Again where a signal came between.
ssize_t splice_some(int from, off64_t* offset, int to, size_t bytes) {
  ssize_t went;
  do {
    went = ::splice(from, offset, to, nullptr, bytes, 0);
  } while (went < 0 && errno == EINTR);
  return went;
}

}  // namespace

/// Pages go from a file through a pipe to nowhere: none is copied, and the system reads ahead as
/// for any reader, in large pages. (posix_fadvise(WILLNEED) fills the cache with single ones:
/// 438 MB took 150 ms of processor time, and this takes 15.)
class ReadAhead::Drain {
 public:
  /// The file is opened once more: the system foresees by opened file what is read next, and this
  /// one's other readers go their own ways.
  explicit Drain(int file)
      : file_(::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_CLOEXEC)),
        nowhere_(::open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    if (::pipe2(pipe_, O_CLOEXEC) != 0) pipe_[0] = pipe_[1] = -1;
    if (pipe_[1] >= 0) ::fcntl(pipe_[1], F_SETPIPE_SZ, static_cast<int>(kStep));
    works_ = file_ >= 0 && nowhere_ >= 0 && pipe_[1] >= 0;
  }
  ~Drain() {
    for (const int fd : {file_, nowhere_, pipe_[0], pipe_[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  bool works() const { return works_; }
  /// How many bytes went; 0 where none can.
  uint64_t take(uint64_t offset, uint64_t bytes) {
    if (!works_) return 0;
    auto from = static_cast<off64_t>(offset);
    const ssize_t came = splice_some(file_, &from, pipe_[1], std::min(bytes, kStep));
    for (ssize_t left = came; left > 0;) {
      const ssize_t went = splice_some(pipe_[0], nullptr, nowhere_, static_cast<size_t>(left));
      works_ = went > 0;  // else the pipe stays full, and the next to write to it would wait
      if (!works_) return 0;
      left -= went;
    }
    return came > 0 ? static_cast<uint64_t>(came) : 0;
  }

 private:
  int file_, nowhere_;
  int pipe_[2] = {-1, -1};
  bool works_ = false;
};

ReadAhead::ReadAhead(const InputFile& file) : file_(file) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  asked_.notify_one();
  if (thread_.joinable()) thread_.join();
}

/// With all signals blocked, so that they go to threads of the caller's.
bool ReadAhead::start() {
  if (drain_) return thread_.joinable();
  drain_ = std::make_unique<Drain>(file_.descriptor());
  if (!drain_->works()) return false;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {  // no thread to be had
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

uint64_t ReadAhead::want(uint64_t offset, uint64_t bytes) {
  if (!start()) return 0;
  const std::lock_guard lock(mutex_);
  parts_.push_back({offset, bytes});
  asked_.notify_one();
  return ++wanted_;
}

bool ReadAhead::wait(uint64_t number) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return finished_ >= number; });
  return number > 0 && missed_.erase(number) == 0;
}

bool ReadAhead::next(Part& part) {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [&] { return stop_ || !parts_.empty(); });
  if (stop_) return false;
  part = parts_.front();
  parts_.pop_front();
  return true;
}

void ReadAhead::finish(bool whole) {
  const std::lock_guard lock(mutex_);
  ++finished_;
  if (!whole) missed_.insert(finished_);
  done_.notify_all();
}

bool ReadAhead::stopped() {
  const std::lock_guard lock(mutex_);
  return stop_;
}

void ReadAhead::work() {
  uint64_t at = 0;
  for (Part part{}; next(part);) {
    const uint64_t end = part.offset + part.bytes;
    // Over a small gap too: a step aside begins anew, with single pages.
    if (at > part.offset || at + kStep < part.offset) at = part.offset;
    while (at < end && !stopped()) {
      const uint64_t went = drain_->take(at, end - at);
      if (went == 0) break;
      at += went;
    }
    finish(at >= end);
  }
}

}  // namespace hone
