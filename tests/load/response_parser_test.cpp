#include "load/response_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace hone::load {
namespace {

using State = ResponseParser::State;

struct ResponseCase {
  const char* name;
  std::string text;
  State state;
  int status;
  bool keep_alive;
};

std::vector<ResponseCase> response_cases() {
  return {
      {"length", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", State::done, 200, true},
      {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", State::done, 200, true},
      {"no_content", "HTTP/1.1 204 No Content\r\n\r\n", State::done, 204, true},
      {"chunked",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
       State::done, 200, true},
      {"trailer",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n",
       State::done, 200, true},
      {"close", "HTTP/1.1 429 X\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", State::done,
       429, false},
      {"http_1_0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", State::done, 200, false},
      {"until_close", "HTTP/1.1 200 OK\r\n\r\nabc", State::until_close, 200, false},
      {"short_body", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", State::body, 200, true},
      {"too_long", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", State::malformed, 200, true},
      {"no_http", "SSH-2.0-server 1.2.3\r\n\r\n", State::malformed, 0, true},
      {"bad_length", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", State::malformed, 200, true},
      {"bad_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", State::malformed,
       200, true},
      {"no_colon", "HTTP/1.1 200 OK\r\nnothing\r\n\r\n", State::malformed, 200, true},
  };
}

TEST(ResponseParser, ReadsAResponseWholeAndByteByByte) {
  for (const ResponseCase& one : response_cases()) {
    ResponseParser whole, single;
    EXPECT_EQ(whole.feed(one.text), one.state) << one.name;
    for (const char& c : one.text) single.feed({&c, 1});
    EXPECT_EQ(single.state(), one.state) << one.name;
    for (const ResponseParser& parser : {whole, single}) {
      EXPECT_EQ(parser.status(), one.status) << one.name;
      EXPECT_EQ(parser.keep_alive(), one.keep_alive) << one.name;
    }
  }
}

TEST(ResponseParser, TheEndOfTheConnectionCompletesOnlyWhatHasNoLength) {
  ResponseParser open;
  open.feed("HTTP/1.1 200 OK\r\n\r\nabc");
  EXPECT_TRUE(open.end());
  ResponseParser cut;
  cut.feed("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc");
  EXPECT_FALSE(cut.end());
}

TEST(ResponseParser, ResetForgetsTheResponse) {
  ResponseParser parser;
  parser.feed("HTTP/1.1 429 X\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(parser.retry_after());
  parser.reset();
  EXPECT_FALSE(parser.begun());
  EXPECT_FALSE(parser.retry_after());
  EXPECT_EQ(parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"), State::done);
  EXPECT_EQ(parser.status(), 200);
}

}  // namespace
}  // namespace hone::load
