// What is no acceptable request, over a connection.

#include <gtest/gtest.h>

#include <random>

#include "http/http_client.h"
#include "http/malformed_cases.h"
#include "http/test_handler.h"

namespace hone::http {
namespace {

class MalformedRequest : public testing::TestWithParam<MalformedCase> {};

TEST_P(MalformedRequest, IsRefusedAndEndsTheConnection) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  HttpClient client(server->port());
  // A good request comes first and another behind: the one is answered, the other is not.
  ASSERT_EQ(client.ask(get("/")).status, 200);
  client.send(GetParam().bytes + get("/"));
  const ClientResponse response = client.receive();
  EXPECT_EQ(response.status, GetParam().status) << response.body;
  EXPECT_TRUE(response.has("connection: close"));
  client.end_sending();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(handler.handled(), 1);
  EXPECT_EQ(HttpClient(server->port()).ask(get("/")).status, 200);
}

INSTANTIATE_TEST_SUITE_P(Http, MalformedRequest, testing::ValuesIn(malformed_cases()),
                         [](const auto& test) { return test.param.name; });

/// What is refused for its size or its time has a header that can be read; the rest is nobody's.
TEST(Malformed, TheProgramHearsWhoAskedWhereTheHeaderSaysIt) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.body_time = std::chrono::milliseconds(100);
  const auto server = open_server(options, handler);
  const std::string named = "POST /a?b HTTP/1.1\r\nHost: a\r\nX-Name: me\r\n";
  const auto told = [&](const std::string& bytes, const char* status) {
    HttpClient client(server->port());
    const ClientResponse response = client.ask(bytes);
    EXPECT_TRUE(response.head.starts_with(std::string("http/1.1 ") + status)) << response.head;
    EXPECT_TRUE(response.has("x-peer: 127.0.0.1")) << response.head;
    const bool asked = response.has("x-asked: post /a");
    EXPECT_EQ(response.has("x-named: me"), asked) << response.head;
    return asked;
  };
  EXPECT_TRUE(told(named + "Content-Length: 100001\r\n\r\n", "413"));
  EXPECT_TRUE(told(named + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n", "413"));
  EXPECT_TRUE(told(named + "Content-Length: 1\r\nExpect: more\r\n\r\n", "417"));
  EXPECT_TRUE(told(named + "Content-Length: 9\r\n\r\nhalf", "408"));
  EXPECT_TRUE(told(named + "Transfer-Encoding: chunked\r\n\r\nx\r\n", "400"));
  EXPECT_FALSE(told(named + "Host: b\r\n\r\n", "400"));
  EXPECT_FALSE(told(named + "Content-Length: 1, 1\r\n\r\n", "400"));
  EXPECT_FALSE(told(named + "X: " + std::string(20'000, 'x'), "431"));
  EXPECT_EQ(handler.handled(), 0);
}

TEST(Malformed, GarbageHarmsNobody) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string garbage(random() % 5000, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    if (i % 3 == 1) garbage = "GET / HTTP/1.1\r\n" + garbage;
    if (i % 3 == 2) garbage = with_chunks(garbage);
    HttpClient client(server->port());
    client.send(garbage);
    client.end_sending();
    client.receive();
  }
  EXPECT_EQ(handler.handled(), 0);
  EXPECT_EQ(HttpClient(server->port()).ask(get("/")).status, 200);
}

}  // namespace
}  // namespace hone::http
