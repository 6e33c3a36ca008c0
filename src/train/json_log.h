#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/log_entry.h"

namespace hone::train {

/// A run's log as JSON lines: {"step":10,"epoch":0.5,"loss":0.31}. A value that is not finite is
/// null.
class JsonLog {
 public:
  /// A log that goes on behind `resumed_step` keeps the lines of the file at `path` up to that
  /// step; later ones, and one that was cut off, are dropped: the run will write them again. The
  /// log begins anew where it is -1.
  explicit JsonLog(const std::string& path, int64_t resumed_step = -1);
  ~JsonLog();
  JsonLog(const JsonLog&) = delete;
  JsonLog& operator=(const JsonLog&) = delete;

  /// Writes the line, which is in the file when this returns. A full disk is an io error that names
  /// the path.
  void write(const LogEntry& entry);

 private:
  std::string path_;
  int fd_ = -1;
};

/// Gives the line of an entry, with its line feed.
std::string json_line(const LogEntry& entry);

}  // namespace hone::train
