#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "infer/session.h"
#include "serve/metrics.h"

namespace hone::serve {

/// What the log says of a request. Its texts are not in it.
struct LogEntry {
  std::string id;
  std::string traceparent = {};
  std::string method = {};
  std::string path = {};
  std::string peer = {};
  std::string model = {};
  std::string error = {};  ///< empty: none
  int status = 0;
  int64_t request_bytes = 0;
  int64_t response_bytes = 0;
  int64_t inputs = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;
  double total = 0;  ///< seconds, as those below
  double tokenization = 0;
  double queue = 0;
  double inference = 0;
};

/// One line a request, written by a thread of its own, so that a reader that does not read holds
/// nobody up: lines that do not fit into a bounded buffer are counted as lost.
class RequestLog {
 public:
  enum class Format { none, plain, json };

  /// `lost` counts; both must outlive this. `descriptor` is not closed.
  RequestLog(Format format, int descriptor, Counter& lost);
  /// Writes what is there; gives up where the reader does not read.
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  bool enabled() const { return format_ != Format::none; }
  void write(const LogEntry& entry);
  /// Writes what is there, as the end does; what is written from now on is lost.
  void close();
  /// What happened to the server itself.
  void note(std::string_view level, std::string_view message);

 private:
  void put(const std::string& line);
  void run();
  bool flush(std::string_view text) const;

  const Format format_;
  const int descriptor_;
  Counter& lost_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::condition_variable changed_;
  std::string buffer_;
  bool ends_ = false;
  std::thread thread_;
};

/// `entry` as a line; `now` in milliseconds since 1970.
std::string log_line(RequestLog::Format format, const LogEntry& entry, int64_t now);

}  // namespace hone::serve
