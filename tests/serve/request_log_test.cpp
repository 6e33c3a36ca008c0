#include "serve/request_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.h"

namespace hone::serve {
namespace {

using Format = RequestLog::Format;

LogEntry logged_request() {
  LogEntry entry;
  entry.id = "id-1";
  entry.method = "POST";
  entry.path = "/predict\n\"x\"";
  entry.traceparent = "00-abc-def-01";
  entry.status = 200;
  entry.model = "m";
  entry.inputs = 2;
  entry.tokens = 11;
  entry.total = 0.0125;
  return entry;
}

TEST(RequestLog, AJsonLineIsOneObject) {
  const std::string line = log_line(Format::json, logged_request(), 1700000000123);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const Json json = Json::parse(line);
  EXPECT_EQ(json["timestamp"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(json["level"], "INFO");
  EXPECT_EQ(json["path"], "/predict\n\"x\"");
  EXPECT_EQ(json["traceparent"], "00-abc-def-01");
  EXPECT_EQ(json["tokens"], 11);
  EXPECT_EQ(json["total_ms"], 12.5);
  EXPECT_FALSE(json.contains("error"));
}

TEST(RequestLog, APlainLineHasNoControlCharactersOfAClient) {
  const std::string line = log_line(Format::plain, logged_request(), 1700000000123);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_NE(line.find("200 POST /predict?\"x\" 12.500 ms inputs=2"), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with(" id=id-1 traceparent=00-abc-def-01\n")) << line;
}

TEST(RequestLog, LinesComeInOrderAndWhole) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Counter lost;
  {
    RequestLog log(Format::json, ends[1], lost);
    for (int i = 0; i < 50; ++i) {
      LogEntry entry = logged_request();
      entry.tokens = i;
      log.write(entry);
    }
    log.note("INFO", "a note");
  }
  ::close(ends[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t got; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(got));
  }
  ::close(ends[0]);
  std::vector<Json> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 51u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(lines[static_cast<size_t>(i)]["tokens"], i);
  EXPECT_EQ(lines[50]["message"], "a note");
  EXPECT_EQ(lost.value(), 0u);
}

TEST(RequestLog, AReaderThatDoesNotReadHoldsNobodyUp) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Counter lost;
  {
    RequestLog log(Format::json, ends[1], lost);
    LogEntry entry = logged_request();
    entry.path = std::string(1000, 'x');
    for (int i = 0; i < 10000; ++i) log.write(entry);
  }
  EXPECT_GT(lost.value(), 0u);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace hone::serve
