#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.h"
#include "infer/session.h"

namespace hone::infer {

/// Reads records in batches: as many as are there, up to a limit of records and of bytes, so that a
/// file is read in large batches and a slow pipe record by record. Memory does not grow with the
/// input.
class BatchReader {
 public:
  static constexpr size_t kMostRecords = 256;

  explicit BatchReader(data::RecordStream& stream, size_t most_records = kMostRecords)
      : stream_(stream), most_records_(most_records) {}

  /// Gives the next batch. Blocks for the first record; empty at the end. A bad record is thrown
  /// after the records before it have been handed out. Valid until the next call.
  std::span<data::Record> next();
  /// Says whether another record would have had to be waited for when next() returned.
  bool idle() const { return idle_; }

 private:
  data::RecordStream& stream_;
  size_t most_records_;
  std::vector<data::Record> records_;
  bool idle_ = false;
  std::exception_ptr error_;
};

struct LineCounts {
  int64_t records = 0;
  int64_t tokens = 0;
  int64_t truncated = 0;

  void add(const Answer& answer);
};

/// Says what is done with the answers to a stream. All but format() are called by one thread at a
/// time, which need not be the caller's, and in the order of the records. Those that are absent are
/// not called.
struct AnswerHandler {
  /// Appends what is written of an answer; called by several threads at one time. An error gets the
  /// record's file and line put before it, and comes when the answers before it have been written.
  std::function<void(const data::Record& record, const Answer& answer, std::string& out)> format =
      {};
  /// Takes what format() made of some answers.
  std::function<void(std::string_view text)> write = {};
  std::function<void(const data::Record& record, const Answer& answer)> answer = {};
  /// Hears of each input that cannot be read, and why, from the caller's thread; where this is
  /// absent, the first one is an error.
  std::function<void(const std::string& problem)> skipped = {};
  /// Hears that no further answer is there yet: what was written should be seen now.
  std::function<void()> idle = {};
  /// Is called now and then.
  std::function<void(const LineCounts& counts)> progress = {};
  bool truncate = true;  ///< false: a longer input is an error
};

/// Answers every record of a stream that may be endless, in memory that does not grow with it. No
/// forward pass has more than `most_samples`; 0: as many as are efficient. Reads, encodes, computes
/// and writes at one time, but for a session that is bounded(). Texts of the records that the
/// handler gets are gone, but for paths of images.
LineCounts answer_lines(Session& session, data::RecordStream& records, const AnswerHandler& handler,
                        int64_t most_samples = 0);

/// Calls handler.format() where there is one, and refuses what was cut where that is not wanted.
/// Errors name the record; `out` is then as it was.
void format_answer(const AnswerHandler& handler, const Answer& answer, const data::Record& record,
                   const data::RecordStream& records, int64_t limit, std::string& out);

}  // namespace hone::infer
