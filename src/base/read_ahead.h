#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "base/file.h"

namespace hone {

/// Brings parts of a file into the page cache before they are read, in a thread of its own. It
/// changes nothing but the time that reading takes; what fails here fails there again.
class ReadAhead {
 public:
  /// `file` must outlive this.
  explicit ReadAhead(const InputFile& file) : file_(file) {}
  /// What has not been brought by now is given up.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Returns at once, with the part's number, from 1 on: they come in the order that they were
  /// asked for.
  uint64_t want(uint64_t offset, uint64_t bytes);
  /// Until that part is there, or cannot be brought: a reader that comes before would take the
  /// work over, page by page.
  void wait(uint64_t number);

 private:
  struct Part {
    uint64_t offset, bytes;
  };
  void work();
  bool next(Part& part);
  void finish();
  bool stopped();

  const InputFile& file_;
  std::mutex mutex_;
  std::condition_variable asked_, done_;
  std::deque<Part> parts_;
  uint64_t wanted_ = 0;
  uint64_t finished_ = 0;
  bool stop_ = false;
  std::thread thread_;  ///< from the first want() on
};

}  // namespace hone
