// How a server ends.

#include <gtest/gtest.h>

#include "http/http_client.h"
#include "http/test_handler.h"

namespace hone::http {
namespace {

using std::chrono::milliseconds;

TEST(HttpDrain, ClosesIdleConnectionsAndAcceptsNoMore) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  HttpClient fresh(server->port()), used(server->port());
  EXPECT_EQ(used.ask(get("/")).status, 200);
  EXPECT_TRUE(server->drain(kPatience));
  EXPECT_TRUE(fresh.closed());
  EXPECT_TRUE(used.closed());
  EXPECT_EQ(server->connections(), 0u);
  EXPECT_FALSE(HttpClient(server->port()).connected());
  EXPECT_TRUE(server->drain(kPatience));
}

TEST(HttpDrain, WaitsForRequestsThatCompute) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  HttpClient client(server->port());
  client.send(get("/hold"));
  const auto exchange = handler.take_held();
  EXPECT_FALSE(server->drain(milliseconds(50)));
  std::thread answer([&] { exchange->respond({.body = "late"}); });
  const ClientResponse response = client.receive();
  client.close();
  answer.join();
  EXPECT_EQ(response.body, "late");
  EXPECT_TRUE(response.has("connection: close"));
  EXPECT_TRUE(server->drain(kPatience));
}

TEST(HttpDrain, LetsARequestThatHasBegunFinish) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  HttpClient client(server->port());
  client.send("POST /echo HTTP/1.1\r\nHost: a\r\n");
  HttpClient other(server->port());
  EXPECT_EQ(other.ask(get("/")).status, 200);
  EXPECT_FALSE(server->drain(milliseconds(300)));
  EXPECT_TRUE(other.closed());
  client.send("Content-Length: 3\r\n\r\nabc");
  EXPECT_EQ(client.receive().body, "abc");
  client.close();
  EXPECT_TRUE(server->drain(kPatience));
}

/// Asks again and again until the server wants no more. A request is lost where its connection was
/// made, or kept by the last response, and it gets no answer all the same.
struct DrainLoad {
  std::atomic<int> answered{0}, lost{0};

  void run(uint16_t port, bool keep_alive, const std::string& path) {
    for (;;) {
      HttpClient client(port);
      if (!client.connected()) return;
      for (bool goes_on = true; goes_on;) {
        client.send(get(path, keep_alive ? "" : "Connection: close\r\n"));
        const ClientResponse response = client.receive();
        (response.status == 200 ? answered : lost) += 1;
        goes_on = response.status == 200 && !response.has("connection: close");
      }
    }
  }
};

TEST(HttpDrain, LosesNoRequestUnderLoad) {
  for (int trial = 0; trial < 10; ++trial) {
    TestHandler handler;
    ServerOptions options = test_options();
    options.drain_idle_time = kPatience / 2;  // A client that the system holds up is no idle one.
    const auto server = open_server(options, handler);
    DrainLoad load;
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back(
          [&, i] { load.run(server->port(), i % 2 == 0, i % 3 == 0 ? "/thread?a" : "/big?100"); });
    }
    EXPECT_TRUE(eventually([&] { return load.answered > 50; }));
    EXPECT_TRUE(server->drain(kPatience));
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(load.answered, handler.handled());
    EXPECT_EQ(load.lost, 0) << "of " << load.answered + load.lost << " in trial " << trial;
  }
}

TEST(HttpDrain, IsNotNeededToEnd) {
  TestHandler handler;
  auto server = open_server(test_options(), handler);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.emplace_back(server->port());
    clients.back().send(i % 3 == 0 ? get("/hold") : i % 3 == 1 ? "GET / HT" : get("/big?3000000"));
  }
  EXPECT_NE(handler.take_held(), nullptr);
  server.reset();
  for (HttpClient& client : clients) client.receive();
}

}  // namespace
}  // namespace hone::http
