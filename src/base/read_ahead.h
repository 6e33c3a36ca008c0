#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.h"

namespace hone {

/// Brings parts of a file into the page cache before they are read, in a thread of its own. It
/// changes nothing but the time that reading takes: what fails here is only not brought.
class ReadAhead {
 public:
  /// `file` must outlive this.
  explicit ReadAhead(const InputFile& file);
  /// Gives up what has not been brought by now.
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Asks for a part and returns its number, from 1 on, at once; parts come in the order in which
  /// they were asked for. Returns 0 where nothing can be brought.
  uint64_t want(uint64_t offset, uint64_t bytes);
  /// Waits until a part has come or is on its way, whole (true) or not. It is called once a part. A
  /// reader that does not wait takes the work over, page by page.
  bool wait(uint64_t number);

 private:
  struct Part {
    uint64_t offset, bytes;
  };
  bool start();
  void work();
  bool next(Part& part);
  void finish(bool whole);
  bool stopped();

  const InputFile& file_;
  bool started_ = false;  ///< whether the thread runs: the first want() starts it
  std::mutex mutex_;
  std::condition_variable asked_, done_;
  std::deque<Part> parts_;
  uint64_t wanted_ = 0;
  uint64_t finished_ = 0;
  std::set<uint64_t> missed_;  ///< numbers of parts that did not come whole
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hone
