// Limits of time and number.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <optional>

#include "http/http_client.h"
#include "http/malformed_cases.h"
#include "http/test_handler.h"

namespace hone::http {
namespace {

constexpr std::chrono::milliseconds kShort{100};

TEST(HttpLimits, AHeaderThatDribblesIsRefusedInTime) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.header_time = kShort;
  const auto server = open_server(options, handler);
  HttpClient client(server->port());
  // Bytes that keep coming do not put the time off: the refusal comes while they do.
  std::atomic<bool> over{false};
  std::thread sender([&] {
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX: ");
    while (!over && client.send("a")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  const ClientResponse response = client.receive();
  over = true;
  sender.join();
  EXPECT_EQ(response.status, 408);
  EXPECT_TRUE(response.has("connection: close"));
}

TEST(HttpLimits, ABodyThatDribblesIsRefusedInTime) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.body_time = kShort;
  const auto server = open_server(options, handler);
  for (const std::string& begin :
       {with_fields("Content-Length: 90000\r\n", "a"), with_chunks("ffff\r\na")}) {
    HttpClient client(server->port());
    std::atomic<bool> over{false};
    std::thread sender([&] {
      client.send(begin);
      while (!over && client.send("a")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
    EXPECT_EQ(client.receive().status, 408);
    over = true;
    sender.join();
  }
  EXPECT_EQ(handler.handled(), 0);
}

TEST(HttpLimits, AnIdleConnectionIsClosedWithoutAWord) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.idle_time = kShort;
  const auto server = open_server(options, handler);
  HttpClient fresh(server->port());
  EXPECT_TRUE(fresh.closed());
  // A client that the system holds up before it asks is idle, too, and then another one tries.
  EXPECT_TRUE(eventually([&] {
    HttpClient used(server->port());
    if (used.ask(get("/")).status != 200) return false;
    EXPECT_TRUE(used.closed());
    return true;
  }));
}

TEST(HttpLimits, ComputingIsNotIdle) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.idle_time = options.header_time = options.body_time = options.write_time = kShort;
  const auto server = open_server(options, handler);
  std::optional<HttpClient> client;
  std::shared_ptr<Exchange> exchange;
  // A client that the system holds up before it asks is idle, and then another one tries.
  EXPECT_TRUE(eventually([&] {
    client.emplace(server->port());
    client->send(get("/hold"));
    return (exchange = handler.take_held(10 * kShort)) != nullptr;
  }));
  std::this_thread::sleep_for(4 * kShort);
  EXPECT_FALSE(exchange->abandoned());
  exchange->respond({.body = "late"});
  EXPECT_EQ(client->receive().body, "late");
}

TEST(HttpLimits, AClientThatDoesNotReadIsCutOff) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.write_time = kShort;
  const auto server = open_server(options, handler);
  HttpClient client(server->port(), 4096);
  client.send(get("/big?50000000"));
  EXPECT_TRUE(eventually([&] { return handler.handled() == 1; }));
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
  EXPECT_EQ(client.receive().status, 0);
}

TEST(HttpLimits, ConnectionsBeyondTheLimitAreClosedAtOnce) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.connections = 3;
  const auto server = open_server(options, handler);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server->port());
    EXPECT_EQ(clients.back().ask(get("/")).status, 200);
  }
  EXPECT_EQ(HttpClient(server->port()).ask(get("/")).status, 0);
  clients.pop_back();
  EXPECT_TRUE(eventually([&] { return server->connections() == 2; }));
  EXPECT_EQ(HttpClient(server->port()).ask(get("/")).status, 200);
}

TEST(HttpLimits, RefusalsForOverloadHoldNobodyUpForLong) {
  TestHandler handler;
  ServerOptions options = test_options();
  options.threads = 1;
  const auto server = open_server(options, handler);
  std::vector<HttpClient> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(server->port());
  for (int round = 0; round < 5; ++round) {
    for (HttpClient& client : clients) client.send(get("/full?a") + get("/full?b") + get("/"));
    for (HttpClient& client : clients) {
      EXPECT_EQ(client.receive().body, "a");
      EXPECT_EQ(client.receive().body, "b");
      EXPECT_EQ(client.receive().status, 200);
    }
  }
}

TEST(HttpLimits, ARefusedBodyDoesNotSweepTheResponseAway) {
  TestHandler handler;
  const auto server = open_server(test_options(), handler);
  for (int i = 0; i < 20; ++i) {
    HttpClient client(server->port());
    // All of it is sent before the response is read, as many clients do.
    EXPECT_TRUE(
        client.send(with_fields("Content-Length: 1000000\r\n", std::string(1'000'000, 'a'))));
    EXPECT_EQ(client.receive().status, 413);
  }
}

TEST(HttpLimits, IdleConnectionsAreCarriedByTheThousand) {
  TestHandler handler;
  // Each connection has two ends here; a system that allows few files gets fewer connections.
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const size_t count = std::min<rlim_t>(2000, files.rlim_max / 2 - kFilesBesideConnections);
  ServerOptions options = test_options();
  options.connections = count + 100;
  const auto server = open_server(options, handler);
  std::vector<HttpClient> clients;
  for (size_t i = 0; i < count; ++i) clients.emplace_back(server->port());
  EXPECT_TRUE(eventually([&] { return server->connections() == count; }));
  for (size_t i = 0; i < clients.size(); i += 97) {
    EXPECT_EQ(clients[i].ask(get("/")).status, 200);
  }
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server->connections() == 0; }));
}

}  // namespace
}  // namespace hone::http
