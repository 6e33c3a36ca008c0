// Requests that are as they should be, and clients that leave.

#include <gtest/gtest.h>

#include "http/http_client.h"
#include "http/malformed_cases.h"
#include "http/test_handler.h"

namespace hone::http {
namespace {

class HttpRequests : public testing::Test {
 protected:
  HttpClient client() const { return HttpClient(server_->port()); }

  TestHandler handler_;
  std::unique_ptr<Server> server_ = open_server(test_options(), handler_);
};

TEST_F(HttpRequests, AreAnsweredOneAfterTheOtherOnOneConnection) {
  HttpClient one = client();
  for (int i = 0; i < 100; ++i) {
    const ClientResponse response = one.ask(post("/echo", std::to_string(i)));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, std::to_string(i));
    EXPECT_TRUE(response.has("content-type: text/plain"));
    EXPECT_NE(response.head.find("\r\ndate: "), std::string::npos);
    EXPECT_EQ(response.head.find("connection:"), std::string::npos);
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(HttpRequests, MayComeBeforeTheirTurn) {
  HttpClient one = client();
  std::string all;
  for (int i = 0; i < 500; ++i) {
    all += post(i % 7 == 0 ? "/thread?" + std::to_string(i) : "/echo", std::to_string(i));
  }
  std::thread sender([&] { one.send(all); });
  for (int i = 0; i < 500; ++i) EXPECT_EQ(one.receive().body, std::to_string(i));
  sender.join();
}

TEST_F(HttpRequests, MayComeByteByByte) {
  HttpClient one = client();
  for (const char c : with_chunks("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")) one.send({&c, 1});
  EXPECT_EQ(one.receive().status, 200);
  for (const char c : post("/echo", "abcde")) one.send({&c, 1});
  EXPECT_EQ(one.receive().body, "abcde");
}

TEST_F(HttpRequests, ToldToContinueSendTheirBody) {
  HttpClient one = client();
  one.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(one.receive().status, 100);
  one.send("abc");
  const ClientResponse response = one.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "abc");
  // A body that is there already needs no such word, and one that is too large gets another.
  EXPECT_EQ(one.ask(with_fields("Content-Length: 2\r\nExpect: 100-continue\r\n", "ab")).status,
            200);
  EXPECT_EQ(one.ask(with_fields("Content-Length: 100001\r\nExpect: 100-continue\r\n")).status, 413);
}

TEST_F(HttpRequests, OfHeadGetTheHeadAlone) {
  HttpClient one = client();
  one.send("HEAD /big?1234 HTTP/1.1\r\nHost: a\r\n\r\n" + get("/"));
  const ClientResponse head = one.receive(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_TRUE(head.has("content-length: 1234"));
  EXPECT_EQ(one.receive().body, "ok");
}

TEST_F(HttpRequests, GetNoLengthWhereTheStatusHasNoBody) {
  HttpClient one = client();
  const ClientResponse none = one.ask(get("/none"));
  EXPECT_EQ(none.status, 204);
  EXPECT_EQ(none.head.find("content-length"), std::string::npos);
  EXPECT_EQ(one.ask(get("/")).status, 200);
}

TEST_F(HttpRequests, OfHttp10CloseUnlessTheyAskOtherwise) {
  HttpClient one = client();
  const ClientResponse kept = one.ask("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.status, 200);
  EXPECT_TRUE(kept.has("connection: keep-alive"));
  EXPECT_EQ(one.ask("GET / HTTP/1.0\r\n\r\n").status, 200);
  EXPECT_TRUE(one.closed());
}

TEST_F(HttpRequests, CloseWhereEitherSideSaysSo) {
  HttpClient one = client();
  EXPECT_TRUE(one.ask(get("/", "Connection: close\r\n")).has("connection: close"));
  EXPECT_TRUE(one.closed());
  HttpClient two = client();
  two.send(get("/close") + get("/"));
  EXPECT_EQ(two.receive().body, "bye");
  EXPECT_TRUE(two.closed());
}

TEST_F(HttpRequests, AreDescribedToTheProgram) {
  const ClientResponse response = client().ask(get("/"));
  EXPECT_TRUE(response.has("x-peer: 127.0.0.1"));
  EXPECT_TRUE(response.has("x-odd: a  b"));  // No value can end its line.
}

TEST_F(HttpRequests, OfLargeResponsesGetAllOfThem) {
  HttpClient one = client();
  for (const size_t size : {0, 1, 16'384, 16'385, 3'000'000}) {
    EXPECT_EQ(one.ask(get("/big?" + std::to_string(size))).body, std::string(size, 'x'));
  }
}

TEST_F(HttpRequests, DroppedOrThrownAtGet500AndGoOn) {
  HttpClient one = client();
  EXPECT_EQ(one.ask(get("/drop")).status, 500);
  EXPECT_EQ(one.ask(get("/throw")).status, 500);
  EXPECT_EQ(one.ask(get("/")).status, 200);
  one.send(get("/hold"));
  handler_.take_held().reset();
  EXPECT_EQ(one.receive().status, 500);
}

TEST_F(HttpRequests, CountOneResponseOnly) {
  HttpClient one = client();
  one.send(get("/hold"));
  const auto exchange = handler_.take_held();
  exchange->respond({.body = "first"});
  exchange->respond({.body = "second"});
  EXPECT_EQ(one.receive().body, "first");
  EXPECT_EQ(one.ask(get("/")).body, "ok");
}

TEST_F(HttpRequests, AreAbandonedWhenTheirClientLeaves) {
  auto one = std::make_unique<HttpClient>(server_->port());
  one->send(get("/hold"));
  const auto exchange = handler_.take_held();
  EXPECT_FALSE(exchange->abandoned());
  one.reset();
  EXPECT_TRUE(eventually([&] { return exchange->abandoned(); }));
  exchange->respond({});
  EXPECT_TRUE(eventually([&] { return server_->connections() == 0; }));
}

TEST_F(HttpRequests, AreAbandonedWhenTheirClientLeavesBehindFurtherOnes) {
  auto one = std::make_unique<HttpClient>(server_->port());
  one->send(get("/hold") + get("/") + get("/"));
  const auto exchange = handler_.take_held();
  one.reset();
  EXPECT_TRUE(eventually([&] { return exchange->abandoned(); }));
}

TEST_F(HttpRequests, AreAnsweredWhenTheirClientOnlyStopsSending) {
  HttpClient one = client();
  one.send(get("/hold") + get("/"));
  one.end_sending();
  const auto exchange = handler_.take_held();
  EXPECT_TRUE(eventually([&] { return exchange->abandoned(); }));
  exchange->respond({.body = "late"});
  EXPECT_EQ(one.receive().body, "late");
  EXPECT_EQ(one.receive().body, "ok");
  EXPECT_TRUE(one.closed());
}

TEST_F(HttpRequests, OutliveTheServer) {
  HttpClient one = client();
  one.send(get("/hold"));
  const auto exchange = handler_.take_held();
  server_.reset();
  EXPECT_TRUE(exchange->abandoned());
  EXPECT_EQ(exchange->request().path, "/hold");
  exchange->respond({});
  EXPECT_TRUE(one.closed());
}

TEST_F(HttpRequests, OfManyClientsAreAnsweredByOtherThreads) {
  std::vector<std::thread> clients;
  std::atomic<int> right{0};
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&, c] {
      HttpClient one = client();
      for (int i = 0; i < 20; ++i) {
        const std::string mark = std::to_string(c * 1000 + i);
        right += one.ask(get("/thread?" + mark)).body == mark;
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(right, 160);
}

}  // namespace
}  // namespace hone::http
