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

  /// `file` names the source in errors. A line of more than `longest` bytes is an error.
  LineReader(std::unique_ptr<ByteSource> source, std::string file, size_t longest = kLongestLine);

  /// The next line without its ending, valid until the next call of next() or waiting(); false at
  /// the end. Blocks for a line.
  bool next(std::string_view& line);
  /// Whether next() would return at once: a whole line, the end or an error is there.
  bool waiting();

  const std::string& file() const { return file_; }
  /// Of the line that next() gave last; from 1.
  int64_t number() const { return number_; }
  /// What ended that line: "\n", "\r\n" or "".
  std::string_view ending() const { return ending_; }

 private:
  bool find_line();
  void fill();
  void drop_mark();

  std::unique_ptr<ByteSource> source_;
  std::string file_;
  size_t longest_;
  std::vector<char> buffer_;
  size_t begin_ = 0;    ///< of the next line
  size_t scanned_ = 0;  ///< no "\n" in [begin_, scanned_) unless found_
  size_t end_ = 0;      ///< of the bytes read
  bool found_ = false;  ///< buffer_[scanned_] is the "\n" of the line at begin_
  bool ended_ = false;
  bool started_ = false;
  int64_t number_ = 0;
  std::string_view ending_;
};

}  // namespace hone::data
