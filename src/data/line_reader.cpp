#include "data/line_reader.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace hone::data {
namespace {

constexpr size_t kChunk = size_t{64} << 10;
constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";

bool is_utf16(std::string_view text) {
  // The mark alone may as well be invalid UTF-8; with half a Latin character it is not.
  if (text.size() < 4) return false;
  const bool little = text.starts_with("\xff\xfe") && text[2] != 0 && text[3] == 0;
  const bool big = text.starts_with("\xfe\xff") && text[2] == 0 && text[3] != 0;
  return little || big;
}

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string file, size_t longest)
    : source_(std::move(source)),
      file_(std::move(file)),
      longest_(longest),
      buffer_(kChunk + kPadding) {}

bool LineReader::find_line() {
  if (!found_ && scanned_ < end_) {
    const void* newline = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_);
    found_ = newline != nullptr;
    scanned_ =
        found_ ? static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data()) : end_;
  }
  if (scanned_ - begin_ > longest_ + 1) {  // "\r" may be one byte of it
    fail(ErrorKind::bad_file, "{}: line {}: longer than {} bytes", file_, number_ + 1, longest_);
  }
  return found_;
}

void LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + kPadding == buffer_.size()) buffer_.resize(end_ * 2 + kPadding);
  const size_t got = source_->read(buffer_.data() + end_, buffer_.size() - kPadding - end_);
  ended_ = got == 0;
  end_ += got;
  if (!started_) drop_mark();
}

void LineReader::drop_mark() {
  const std::string_view text(buffer_.data(), end_);
  const bool may_be_mark = !text.empty() && static_cast<unsigned char>(text[0]) >= 0xef;
  if (may_be_mark && text.size() < 4 && !ended_ && text.find('\n') == text.npos) return;
  started_ = true;
  if (is_utf16(text)) fail(ErrorKind::bad_file, "{}: UTF-16 text; expected UTF-8", file_);
  if (text.starts_with(kUtf8Mark)) {
    begin_ = kUtf8Mark.size();
    scanned_ = std::max(scanned_, begin_);
  }
}

bool LineReader::waiting() {
  while (!find_line() && !ended_) {
    if (!source_->ready()) return false;
    fill();
  }
  return true;
}

bool LineReader::next(std::string_view& line) {
  while (!find_line() && !ended_) fill();
  if (!found_ && begin_ == end_) return false;
  ++number_;
  line = {buffer_.data() + begin_, scanned_ - begin_};
  ending_ = found_ ? "\n" : "";
  if (found_ && line.ends_with('\r')) {
    line.remove_suffix(1);
    ending_ = "\r\n";
  }
  if (line.size() > longest_) {
    fail(ErrorKind::bad_file, "{}: line {}: longer than {} bytes", file_, number_, longest_);
  }
  begin_ = scanned_ = scanned_ + (found_ ? 1 : 0);
  found_ = false;
  return true;
}

}  // namespace hone::data
