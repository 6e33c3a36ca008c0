#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/records.h"
#include "infer/session.h"

namespace hone::infer {

/// Records in batches: as many as are there, up to a limit of records and of bytes, so that a file
/// is read in large batches and a slow pipe record by record. Memory does not grow with the input.
class BatchReader {
 public:
  explicit BatchReader(data::RecordStream& stream) : stream_(stream) {}

  /// Blocks for the first record; empty at the end. A bad record is thrown after the records
  /// before it have been handed out. Valid until the next call.
  std::span<const data::Record> next();

 private:
  data::RecordStream& stream_;
  std::vector<data::Record> records_;
  std::exception_ptr error_;
};

struct LineCounts {
  int64_t records = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;
};

/// What is done with the answers to a stream.
struct AnswerHandler {
  /// Called in the order of the records. An error gets the record's file and line put before it.
  std::function<void(const Answer& answer)> answer;
  /// No further record is waiting: what has been answered should be seen now.
  std::function<void()> idle;
  /// Called after every batch.
  std::function<void(const LineCounts& counts)> progress;
  bool truncate = true;  ///< false: a longer input is an error
};

/// Answers every record of a stream that may be endless.
LineCounts answer_lines(Session& session, data::RecordStream& records,
                        const AnswerHandler& handler);

/// Error of an input that was cut where that is not wanted; `where` as "FILE: line N".
void refuse_truncated(const Answer& answer, int64_t limit, const std::string& where);

}  // namespace hone::infer
