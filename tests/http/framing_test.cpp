// Requests without sockets: what is taken and what is not, whole and in pieces.

#include "http/server/framing.h"

#include <gtest/gtest.h>

#include "http/malformed_cases.h"
#include "http/server/request_reader.h"

namespace hone::http {
namespace {

constexpr Limits kLimits = {16 * 1024, 100, 100'000};

struct ReadOutcome {
  RequestReader::Status status = RequestReader::Status::more;
  Refusal refusal;
  Request request;
  bool keep_alive = false;
  std::string rest;  ///< what follows the request
};

/// Reads a request that comes in pieces of `piece` bytes.
ReadOutcome read_pieces(const std::string& bytes, size_t piece) {
  RequestReader reader(kLimits);
  ReadOutcome outcome;
  std::string kept;
  size_t at = 0;
  while (at < bytes.size() && outcome.status == RequestReader::Status::more) {
    kept += bytes.substr(at, piece);
    at += piece;
    std::string_view pending = kept;
    outcome.status = reader.read(pending);
    kept = std::string(pending);
  }
  outcome.rest = kept + (at < bytes.size() ? bytes.substr(at) : "");
  outcome.refusal = reader.refusal();
  outcome.keep_alive = reader.keep_alive();
  outcome.request = reader.take_request();
  return outcome;
}

ReadOutcome read_whole(const std::string& bytes) { return read_pieces(bytes, bytes.size()); }

class MalformedText : public testing::TestWithParam<MalformedCase> {};

TEST_P(MalformedText, IsRefusedWholeAndInPieces) {
  for (const size_t piece : {GetParam().bytes.size(), size_t{1}, size_t{7}}) {
    const ReadOutcome outcome = read_pieces(GetParam().bytes, piece);
    EXPECT_EQ(outcome.status, RequestReader::Status::refused) << "pieces of " << piece;
    EXPECT_EQ(outcome.refusal.status, GetParam().status) << outcome.refusal.reason;
    EXPECT_FALSE(outcome.refusal.reason.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Http, MalformedText, testing::ValuesIn(malformed_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Framing, ReadsABodyByLengthAndLeavesTheRest) {
  const std::string bytes = with_fields("Content-Length: 3\r\nX-A:  b c \t\r\n", "abcGET /");
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{5}}) {
    const ReadOutcome outcome = read_pieces(bytes, piece);
    EXPECT_EQ(outcome.status, RequestReader::Status::complete);
    EXPECT_EQ(outcome.request.method, "POST");
    EXPECT_EQ(outcome.request.body, "abc");
    EXPECT_EQ(outcome.rest, "GET /");
    ASSERT_EQ(outcome.request.headers.size(), 3u);
    ASSERT_NE(outcome.request.header("x-a"), nullptr);
    EXPECT_EQ(*outcome.request.header("x-a"), "b c");
    EXPECT_EQ(outcome.request.header("x-b"), nullptr);
    EXPECT_TRUE(outcome.keep_alive);
  }
}

TEST(Framing, ReadsChunksAndIgnoresExtensionsAndTrailers) {
  const std::string bytes = with_chunks(
      "3;a=b;c=\"d \\\" e\"\r\nabc\r\n00A;x\r\n0123456789\r\n0\r\nConnection: close\r\nY: "
      "z\r\n\r\nrest");
  for (const size_t piece : {bytes.size(), size_t{1}, size_t{5}}) {
    const ReadOutcome outcome = read_pieces(bytes, piece);
    EXPECT_EQ(outcome.status, RequestReader::Status::complete);
    EXPECT_EQ(outcome.request.body, "abc0123456789");
    EXPECT_EQ(outcome.rest, "rest");
    EXPECT_EQ(outcome.request.header("y"), nullptr);
    EXPECT_TRUE(outcome.keep_alive);
  }
}

TEST(Framing, ReadsNoChunksAtAllInAnyPieces) {
  const std::string bytes = with_chunks("0\r\n\r\n");
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const ReadOutcome outcome = read_pieces(bytes, piece);
    EXPECT_EQ(outcome.status, RequestReader::Status::complete) << "pieces of " << piece;
    EXPECT_EQ(outcome.rest, "");
  }
}

struct TargetCase {
  std::string line, path, query;
};

TEST(Framing, SplitsTargetsOfAllForms) {
  const TargetCase cases[] = {
      {"GET / HTTP/1.1", "/", ""},
      {"GET /a/b?c=d?e HTTP/1.1", "/a/b", "c=d?e"},
      {"GET /a? HTTP/1.1", "/a", ""},
      {"GET /%2e%2e HTTP/1.1", "/%2e%2e", ""},
      {"GET http://host:80/a?b HTTP/1.1", "/a", "b"},
      {"GET HTTPS://[::1]:80 HTTP/1.1", "/", ""},
      {"GET http://host?b HTTP/1.1", "/", "b"},
      {"OPTIONS * HTTP/1.1", "*", ""},
      {"CONNECT host:443 HTTP/1.1", "host:443", ""},
      {"PURGE /a HTTP/1.1", "/a", ""},
  };
  for (const TargetCase& target : cases) {
    const ReadOutcome outcome = read_whole(with_line(target.line));
    EXPECT_EQ(outcome.status, RequestReader::Status::complete) << target.line;
    EXPECT_EQ(outcome.request.path, target.path) << target.line;
    EXPECT_EQ(outcome.request.query, target.query) << target.line;
  }
}

TEST(Framing, KnowsWhichConnectionsGoOn) {
  const auto goes_on = [](const std::string& bytes) { return read_whole(bytes).keep_alive; };
  EXPECT_TRUE(goes_on("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(goes_on("GET / HTTP/1.1\r\nHost: a\r\nConnection: CLOSE\r\n\r\n"));
  EXPECT_FALSE(goes_on("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n"));
  EXPECT_FALSE(goes_on("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(goes_on("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(Framing, TakesOneEmptyLineBeforeARequest) {
  const ReadOutcome outcome = read_whole("\r\n" + with_line("GET /a HTTP/1.1"));
  EXPECT_EQ(outcome.status, RequestReader::Status::complete);
  EXPECT_EQ(outcome.request.path, "/a");
  EXPECT_EQ(outcome.rest, "");
}

TEST(Framing, TakesExactlyWhatTheLimitsAllow) {
  std::string fields;
  for (int i = 0; i < 99; ++i) fields += "X: a\r\n";
  EXPECT_EQ(read_whole(with_fields(fields)).status, RequestReader::Status::complete);
  EXPECT_EQ(read_whole(with_fields(fields + "X: a\r\n")).refusal.status, 431);

  const std::string around = with_fields("X: \r\n");
  const std::string longest(kLimits.header_bytes - around.size(), 'a');
  EXPECT_EQ(read_whole(with_fields("X: " + longest + "\r\n")).status,
            RequestReader::Status::complete);
  EXPECT_EQ(read_whole(with_fields("X: " + longest + "a\r\n")).refusal.status, 431);

  const std::string body(100'000, 'b');
  EXPECT_EQ(read_whole(with_fields("Content-Length: 100000\r\n", body)).request.body, body);
  EXPECT_EQ(read_whole(with_chunks("186a0\r\n" + body + "\r\n0\r\n\r\n")).request.body, body);
}

}  // namespace
}  // namespace hone::http
