#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/log_entry.h"

namespace hone::train {

/// Scalars for TensorBoard: a file of TFRecords, each an Event message. Written by hand: two
/// messages of five fields do not justify the protobuf library.
class EventFile {
 public:
  /// Creates a new file in `folder` (made if missing), named as TensorBoard looks for it; it shows
  /// all files of a folder as one run. A run that goes on behind `resumed_step` adds a file that
  /// makes it forget what the earlier ones say of later steps.
  explicit EventFile(const std::string& folder, int64_t resumed_step = -1);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  const std::string& path() const { return path_; }
  /// Writes one event for the entry, which is in the file when this returns: `wall_time` is in
  /// seconds since 1970. A full disk is an io error that names the path.
  void write(const LogEntry& entry, double wall_time);
  /// Writes one event for the entry with the time of the call.
  void write(const LogEntry& entry);

 private:
  void append(std::string_view bytes);
  std::string path_;
  int fd_ = -1;
};

/// Gives the Event message of an entry: its values and the epoch ("epoch") as scalars of its step.
std::string event_message(const LogEntry& entry, double wall_time);

/// Puts a message in TFRecord's frame: length, checksum of the length, message, checksum of it.
std::string tf_record(std::string_view message);

/// Computes CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

}  // namespace hone::train
