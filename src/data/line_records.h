#pragma once

#include <exception>

#include "data/line_reader.h"
#include "data/records.h"

namespace hone::data {

/// Records made of one or more lines each; what all line-based formats share.
class LineRecords : public RecordStream {
 public:
  explicit LineRecords(LineReader lines) : lines_(std::move(lines)) {}

  bool next(Record& record) final;
  bool waiting() final;
  void interrupt() final { lines_.interrupt(); }
  std::string where(const Record& record) const final;

 protected:
  /// Takes one line; true when `record` (cleared before each call) is whole. The line dies with
  /// the call.
  virtual bool take(std::string_view line, Record& record) = 0;
  /// Hears of the end of the input, and complains of an unfinished record.
  virtual void finish() {}

  const LineReader& lines() const { return lines_; }
  /// Gives "FILE: line N" of the line being taken.
  std::string here() const;

 private:
  bool read(Record& record);

  LineReader lines_;
  Record ahead_;  ///< the record that waiting() has made already
  bool has_ahead_ = false;
  bool ended_ = false;
  std::exception_ptr error_;
};

/// Drops what a record holds, keeps its storage.
void clear(Record& record);

/// Records of plain lines, which TREC's and the treebank's files have, too.
class PlainRecords : public LineRecords {
 public:
  using LineRecords::LineRecords;

 protected:
  bool take(std::string_view line, Record& record) override;
};

}  // namespace hone::data
