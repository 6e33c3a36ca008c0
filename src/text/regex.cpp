#include "text/regex.h"

#include <oniguruma.h>

#include <mutex>

#include "base/error.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

// A hostile expression must end: Oniguruma counts steps of backtracking, and refuses to go on.
constexpr unsigned long kRetries = 10'000'000;
constexpr size_t kMaxExpression = 10'000;

void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_parse_depth_limit(200);
  });
}

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string onig_message(int code, OnigErrorInfo* info) {
  OnigUChar buffer[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size = onig_error_code_to_str(buffer, code, info);
  return std::string(reinterpret_cast<const char*>(buffer), static_cast<size_t>(size));
}

/// Gives `text`, or a copy of equal length in which older characters stand for new ones.
std::string_view with_proxies(std::string_view text, std::string& memory) {
  const Unicode& unicode = Unicode::tables();
  bool any = false;
  for (size_t at = 0; at < text.size() && !any;) {
    const Utf8Char c = decode_utf8(text, at);
    any = unicode.is(c.code, kRegexProxied);
    at += c.size;
  }
  if (!any) return text;
  memory.clear();
  for (size_t at = 0; at < text.size();) {
    const Utf8Char c = decode_utf8(text, at);
    append_utf8(unicode.regex_proxy(c.code), memory);
    at += c.size;
  }
  return memory;
}

void add_gap(size_t from, size_t to, std::vector<Stretch>& out) {
  if (from != to) out.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), false});
}

}  // namespace

struct Pattern::Expression {
  regex_t* regex = nullptr;
  Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  ~Expression() { onig_free(regex); }
};

Pattern Pattern::string(std::string needle) {
  Pattern pattern;
  pattern.needle_ = std::move(needle);
  return pattern;
}

Pattern Pattern::regex(const std::string& expression, const std::string& file,
                       const std::string& field) {
  initialize_once();
  if (expression.size() > kMaxExpression) {
    fail(ErrorKind::bad_file, "{}: {}: an expression of {} bytes, more than the limit of {}", file,
         field, expression.size(), kMaxExpression);
  }
  auto compiled = std::make_shared<Expression>();
  OnigErrorInfo info{};
  const OnigUChar* begin = bytes_of(expression);
  const int code = onig_new(&compiled->regex, begin, begin + expression.size(), ONIG_OPTION_NONE,
                            ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
  if (code != ONIG_NORMAL) {
    compiled->regex = nullptr;
    fail(ErrorKind::bad_file, "{}: {}: not a regular expression ({}), got {}", file, field,
         onig_message(code, &info), quote(expression));
  }
  Pattern pattern;
  pattern.name_ = file + ": " + field;
  pattern.expression_ = std::move(compiled);
  return pattern;
}

void Pattern::find(std::string_view text, std::vector<Stretch>& out) const {
  out.clear();
  if (text.empty()) return;
  if (expression_) {
    find_regex(text, out);
  } else {
    find_string(text, out);
  }
}

void Pattern::find_string(std::string_view text, std::vector<Stretch>& out) const {
  size_t done = 0;
  while (!needle_.empty()) {
    const size_t found = text.find(needle_, done);
    if (found == std::string_view::npos) break;
    add_gap(done, found, out);
    done = found + needle_.size();
    out.push_back({static_cast<uint32_t>(found), static_cast<uint32_t>(done), true});
  }
  add_gap(done, text.size(), out);
}

void Pattern::find_regex(std::string_view original, std::vector<Stretch>& out) const {
  thread_local std::string memory;
  const std::string_view text = with_proxies(original, memory);
  const std::unique_ptr<OnigMatchParam, void (*)(OnigMatchParam*)> limits(
      onig_new_match_param(), [](OnigMatchParam* p) { onig_free_match_param(p); });
  onig_initialize_match_param(limits.get());
  onig_set_retry_limit_in_match_of_match_param(limits.get(), kRetries);
  const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(
      onig_region_new(), [](OnigRegion* r) { onig_region_free(r, 1); });
  const OnigUChar* begin = bytes_of(text);
  const OnigUChar* end = begin + text.size();
  size_t done = 0;             // stretches cover the text up to here
  size_t at = 0;               // the search goes on from here
  size_t last_end = SIZE_MAX;  // end of the last match: no empty match is taken right behind one
  while (at <= text.size()) {
    const int found = onig_search_with_param(expression_->regex, begin, end, begin + at, end,
                                             region.get(), ONIG_OPTION_NONE, limits.get());
    if (found == ONIG_MISMATCH) break;
    if (found < 0) {
      fail(ErrorKind::bad_file, "{}: the expression gave up on a text of {} bytes ({})", name_,
           text.size(), onig_message(found, nullptr));
    }
    const size_t from = static_cast<size_t>(region->beg[0]);
    const size_t to = static_cast<size_t>(region->end[0]);
    if (from == to) {
      at = to < text.size() ? to + decode_utf8(text, to).size : to + 1;
      if (last_end == to) continue;
    } else {
      at = to;
    }
    last_end = to;
    add_gap(done, from, out);
    out.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), true});
    done = to;
  }
  add_gap(done, text.size(), out);
}

}  // namespace hone::text
