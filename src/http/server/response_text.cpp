#include "http/server/response_text.h"

#include <fmt/format.h>

#include <boost/beast/http/status.hpp>
#include <ctime>
#include <iterator>

namespace hone::http {
namespace {

void append_field(std::string& head, std::string_view name, std::string_view value) {
  const auto append_text = [&](std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      head += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
  };
  append_text(name);
  head += ": ";
  append_text(value);
  head += "\r\n";
}

}  // namespace

bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(const Response& response, Persistence persistence,
                          std::string_view date) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  std::string head;
  head.reserve(256);
  fmt::format_to(std::back_inserter(head), "HTTP/1.1 {} {}\r\n", response.status,
                 std::string_view(reason.data(), reason.size()));
  if (has_body(response.status)) {
    if (!response.content_type.empty()) append_field(head, "Content-Type", response.content_type);
    fmt::format_to(std::back_inserter(head), "Content-Length: {}\r\n", response.body.size());
  }
  append_field(head, "Date", date);
  if (persistence != Persistence::implied) {
    append_field(head, "Connection", persistence == Persistence::close ? "close" : "keep-alive");
  }
  for (const Header& header : response.headers) append_field(head, header.name, header.value);
  head += "\r\n";
  return head;
}

std::string http_date(std::time_t time) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm utc = {};
  gmtime_r(&time, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace hone::http
