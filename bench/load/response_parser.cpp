#include "load/response_parser.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

namespace hone::load {
namespace {

constexpr size_t kHeadLimit = 64 * 1024;

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool parse_number(std::string_view text, int base, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end != text.data() && value >= 0;
}

}  // namespace

ResponseParser::State ResponseParser::feed(std::string_view bytes) {
  begun_ = begun_ || !bytes.empty();
  while (!bytes.empty() && state_ != State::malformed) {
    switch (state_) {
      case State::head:
        take_head(bytes);
        break;
      case State::chunk_size:
      case State::trailer:
        take_line(bytes);
        break;
      case State::body:
      case State::chunk_data:
        take_data(bytes);
        break;
      case State::until_close:
        return state_;
      case State::done:
        state_ = State::malformed;
        break;
      case State::malformed:
        break;
    }
  }
  return state_;
}

bool ResponseParser::end() {
  if (state_ == State::until_close) state_ = State::done;
  return state_ == State::done;
}

void ResponseParser::reset() { *this = ResponseParser(); }

void ResponseParser::take_head(std::string_view& bytes) {
  const size_t had = text_.size();
  text_.append(bytes.substr(0, kHeadLimit));
  const size_t end = text_.find("\r\n\r\n", had < 3 ? 0 : had - 3);
  if (end == std::string::npos) {
    if (text_.size() >= kHeadLimit) state_ = State::malformed;
    bytes = {};
    return;
  }
  bytes.remove_prefix(end + 4 - had);
  text_.resize(end + 2);
  read_head();
  text_.clear();
}

void ResponseParser::read_head() {
  int64_t status = 0;
  if (text_.size() < 12 || text_.compare(0, 7, "HTTP/1.") != 0 ||
      !parse_number(std::string_view(text_).substr(9, 3), 10, status)) {
    state_ = State::malformed;
    return;
  }
  status_ = static_cast<int>(status);
  keep_alive_ = text_[7] == '1';
  std::string_view rest = text_;
  rest.remove_prefix(rest.find("\r\n") + 2);
  while (!rest.empty()) {
    const size_t end = rest.find("\r\n");
    read_field(rest.substr(0, end));
    rest.remove_prefix(end + 2);
  }
  if (state_ == State::malformed) return;
  if (status_ == 204 || status_ == 304) {
    state_ = State::done;
  } else if (chunked_) {
    state_ = State::chunk_size;
  } else if (has_length_) {
    state_ = left_ > 0 ? State::body : State::done;
  } else {
    state_ = State::until_close;
    keep_alive_ = false;
  }
}

void ResponseParser::read_field(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    state_ = State::malformed;
    return;
  }
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  if (same(name, "content-length")) {
    has_length_ = true;
    if (!parse_number(value, 10, left_)) state_ = State::malformed;
  } else if (same(name, "transfer-encoding")) {
    chunked_ = same(value, "chunked");
    if (!chunked_) state_ = State::malformed;
  } else if (same(name, "connection")) {
    if (same(value, "close")) keep_alive_ = false;
  } else if (same(name, "retry-after")) {
    retry_after_ = true;
  }
}

void ResponseParser::take_line(std::string_view& bytes) {
  const size_t end = bytes.find('\n');
  text_.append(bytes.substr(0, end == std::string_view::npos ? end : end + 1));
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (end == std::string_view::npos) {
    if (text_.size() > kHeadLimit) state_ = State::malformed;
    return;
  }
  end_line();
  text_.clear();
}

void ResponseParser::end_line() {
  const bool empty = text_ == "\r\n";
  if (state_ == State::trailer) {
    if (empty) state_ = State::done;
    return;
  }
  if (!parse_number(text_, 16, left_)) {
    state_ = State::malformed;
  } else if (left_ == 0) {
    state_ = State::trailer;
  } else {
    left_ += 2;  // the line end behind the data
    state_ = State::chunk_data;
  }
}

void ResponseParser::take_data(std::string_view& bytes) {
  const size_t taken = std::min(bytes.size(), static_cast<size_t>(left_));
  bytes.remove_prefix(taken);
  left_ -= static_cast<int64_t>(taken);
  if (left_ == 0) state_ = state_ == State::body ? State::done : State::chunk_size;
}

}  // namespace hone::load
