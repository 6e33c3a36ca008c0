#include <algorithm>

#include "http/server/framing.h"

namespace hone::http {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

Refusal HeaderScanner::scan(std::string_view received, const Limits& limits) {
  const size_t most = limits.header_bytes;
  const size_t last = std::min(received.size(), most);
  while (position_ < last) {
    const char c = received[position_];
    const size_t at = position_++;
    if (after_cr_) {
      if (c != '\n') return {400, "a CR without LF in the header"};
      after_cr_ = false;
      if (const Refusal refusal = end_line(limits)) return refusal;
      if (complete()) return {};
    } else if (is_control(c)) {
      if (c == '\r') {
        after_cr_ = true;
      } else if (c == '\n') {
        return {400, "a line of the header ends with LF alone"};
      } else if (c != '\t' || at == line_start_) {
        return {400, "a control character in the header"};
      }
    } else if (c == ' ' && at == line_start_) {
      return {400, lines_ == 0 ? "a space before the method" : "a folded header line"};
    }
  }
  if (position_ == most) return {431, "the header is too large"};
  return {};
}

Refusal HeaderScanner::end_line(const Limits& limits) {
  const bool empty = position_ - line_start_ == 2;
  line_start_ = position_;
  if (!empty) {
    if (++lines_ > limits.header_fields + 1) return {431, "too many header fields"};
  } else if (lines_ > 0) {
    end_ = position_;
  } else if (begin_ == 0) {
    begin_ = position_;  // Clients of old send an empty line behind a body.
  } else {
    return {400, "empty lines before the request"};
  }
  return {};
}

}  // namespace hone::http
