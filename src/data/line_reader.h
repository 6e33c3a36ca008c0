#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace hone::data {

/// The lines of a source of any length, in memory of the longest line. A line ends with "\n" or
/// "\r\n"; the last may lack it. A UTF-8 byte order mark at the start is dropped; the rest are
/// raw bytes, NULs and invalid UTF-8 among them. UTF-16 text is an error.
class LineReader {
 public:
  static constexpr size_t kLongestLine = size_t{64} << 20;
  /// So many bytes behind a line that next() gives may be read, whatever they are.
  static constexpr size_t kPadding = 64;

  /// `file` names the source in errors. A line of more than `longest` bytes is an error.
  LineReader(std::unique_ptr<ByteSource> source, std::string file, size_t longest = kLongestLine);

  /// Gives the next line without its ending, valid until the next call of next() or waiting();
  /// false at the end. Blocks for a line.
  bool next(std::string_view& line);
  /// Says whether next() would return at once: a whole line, the end or an error is there.
  bool waiting();
  /// Interrupts the source, see ByteSource::interrupt().
  void interrupt() { source_->interrupt(); }

  /// Counts so many lines before the first, for a source that is not a file's begin.
  void count_from(int64_t lines) { number_ = lines; }

  const std::string& file() const { return file_; }
  /// Gives the number of the line that next() gave last, from 1.
  int64_t number() const { return number_; }
  /// Gives what ended the line that next() gave last: "\n", "\r\n" or "".
  std::string_view ending() const { return ending_; }

 private:
  bool find_line();
  void fill();
  void drop_mark();

  std::unique_ptr<ByteSource> source_;
  std::string file_;
  size_t longest_;
  std::vector<char> buffer_;  ///< its last kPadding bytes are never filled
  size_t begin_ = 0;          ///< where the next line begins
  size_t scanned_ = 0;        ///< no "\n" in [begin_, scanned_) unless found_
  size_t end_ = 0;            ///< where the bytes read end
  bool found_ = false;        ///< buffer_[scanned_] is the "\n" of the line at begin_
  bool ended_ = false;
  bool started_ = false;
  int64_t number_ = 0;
  std::string_view ending_;
};

}  // namespace hone::data
