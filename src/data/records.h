#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace hone::data {

class Processor;

/// One sample as its file has it. Text is raw bytes (tokenisers replace what is not UTF-8).
struct Record {
  std::string text;
  std::optional<std::string> pair;
  /// The label is as the file writes it: a name, an id, a score. Absent where the data has none.
  std::optional<std::string> label;
  /// Labels are present only where a JSON line's label is a list: multi-label data.
  std::optional<std::vector<std::string>> labels;
  /// The line of the file on which the record starts, from 1 (a header is a line).
  int64_t row = 0;
  /// Ids in place of a text, special ones included, as stores of `hone prep` have them.
  std::vector<int32_t> ids = {};
};

/// Gives the bytes of a record's text, or of what stands for it.
inline size_t bytes_of(const Record& record) {
  return record.text.size() + (record.pair ? record.pair->size() : 0) +
         record.ids.size() * sizeof(int32_t);
}

/// Records of a file or a pipe of any length, in memory of the longest record.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// Reads the next record; false at the end. Storage in `record` is used again. A bad record is an
  /// error that names file, line and column; nothing can be read after it.
  virtual bool next(Record& record) = 0;
  /// Says whether next() would return (or throw) at once, so that an endless input can be answered
  /// as it comes: flush when nothing is waiting. Never throws.
  virtual bool waiting() = 0;
  /// Makes a next() that waits for input end as if there were no more, now and from now on, for a
  /// caller that no longer wants what it waits for. Any thread may call it.
  virtual void interrupt() {}
  /// Fails where records have ids and these are not the processor's.
  virtual void check_ids(const Processor&) const {}
  /// Gives "FILE: line N", for complaints about a record of this stream. Any thread may call it.
  virtual std::string where(const Record& record) const = 0;
};

enum class Format { lines, jsonl, csv, tsv };

/// Reads "lines" (or "text", "txt"), "jsonl" (or "json"), "csv", "tsv"; anything else is a usage
/// error.
Format parse_format(std::string_view name);
/// Tells the format by extension, below a ".xz" or ".gz": .jsonl .json .ndjson, .csv, .tsv; plain
/// lines otherwise.
Format format_of(const std::string& path);

/// Columns are found so, in CSV and TSV by the header, in JSON lines by the keys:
/// - text: `sentence1` and `sentence2`, or `text` and `text_pair` (the second may be missing), or
///   the first one or two columns that are none of `label`, `labels`, `idx`, `index`, `id`. Of
///   JSON lines only string values count for the last rule, and the first record decides.
/// - label: `label` or `labels`, where there is one.
/// Plain lines: every line is a record, an empty one too. JSON lines: one object a line; blank
/// lines are skipped. CSV: RFC 4180, read as Python's csv module reads it, but a quote that is
/// never closed is an error; TSV: quotes are literal, as in GLUE's files. Both need a header, and
/// the header's number of fields in every row; empty lines are skipped.
struct RecordOptions {
  std::optional<Format> format;  ///< absent: by extension
  bool need_label = false;       ///< a record without a label is an error
};

/// Opens a file's records, or those of a store that `hone prep` wrote; "-" is standard input.
std::unique_ptr<RecordStream> open_records(const std::string& path, const RecordOptions& options);

/// Reads the records of any source; `name` stands for the file.
std::unique_ptr<RecordStream> read_records(std::unique_ptr<ByteSource> source,
                                           const std::string& name, const RecordOptions& options);

}  // namespace hone::data
