#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"

namespace hone::study {

/// A run of a study, as a line of records.jsonl.
struct Record {
  std::string study;
  Json fields = Json::object();  ///< the case
  int64_t repeat = 0;
  uint64_t seed = 0;
  std::string command = {};
  std::string version = {};
  Json machine = Json::object();
  Json metrics = Json::object();
  Json curves = Json::object();
  std::string status = "ok";  ///< "ok", "failed", "not available"
  std::string why = {};       ///< the reason of any other status
};

OrderedJson to_json(const Record& record);

/// Says what this machine is, so that its records are told from those of others.
Json machine_facts();

/// A file of records that grows by a line a run, each of which is on the disk before the next run.
class RecordFile {
 public:
  /// Opens or makes the file. A last line that was cut off is dropped. A record of a newer form, or
  /// a line that is none, is an error that names the line.
  explicit RecordFile(const std::string& path);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  /// Says whether this run has a record of this machine, ok or not. Where one was made by another
  /// command, as other settings give, it is a usage error: they do not belong in one file.
  bool has(const Record& record) const;
  void append(const Record& record);

  /// Says what was dropped when the file was opened; empty: nothing.
  const std::string& dropped() const { return dropped_; }

 private:
  static std::string key(const Json& record);
  void read();

  std::string path_;
  std::string dropped_;
  std::map<std::string, std::string> commands_;  ///< by run
  int fd_ = -1;
};

}  // namespace hone::study
