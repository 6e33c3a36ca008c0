#include "load/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "load/arrivals.h"
#include "load/requests.h"
#include "load/scripted_server.h"

namespace hone::load {
namespace {

Options open_loop(const ScriptedServer& server, double rate, double seconds) {
  Options options;
  options.port = server.port();
  options.phases = {{rate, seconds}};
  options.drain_seconds = 20;
  return options;
}

RunResult run_to(const Options& options) { return run(options, read_requests(options)); }

int64_t count_over(const std::vector<double>& values, double limit) {
  return std::count_if(values.begin(), values.end(), [=](double v) { return v >= limit; });
}

TEST(Arrivals, ArePoissonAndRepeatable) {
  Options options;
  options.phases = {{1000, 20}};
  const std::vector<Arrival> arrivals = poisson_arrivals(options);
  // The count's deviation is its root, 141; five of them are past any chance of this one seed.
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 20000, 5 * 141);
  double sum = 0, squares = 0;
  for (size_t i = 1; i < arrivals.size(); ++i) {
    const double gap = arrivals[i].at - arrivals[i - 1].at;
    ASSERT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / static_cast<double>(arrivals.size() - 1);
  const double deviation =
      std::sqrt(squares / static_cast<double>(arrivals.size() - 1) - mean * mean);
  EXPECT_NEAR(deviation / mean, 1, 0.05);  // exponential gaps have 1, regular ones 0
  EXPECT_EQ(poisson_arrivals(options).back().at, arrivals.back().at);
  options.seed = 2;
  EXPECT_NE(poisson_arrivals(options).back().at, arrivals.back().at);
}

TEST(Driver, CountsEveryAnswerByItsStatus) {
  ScriptedServer server([](int64_t n, const std::string&) {
    if (n % 4 == 1) return response(429, "{}", "Retry-After: 1\r\n");
    if (n % 4 == 2) return response(503);
    if (n % 4 == 3) return std::string("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    return response(200);
  });
  const RunResult result = run_to(open_loop(server, 400, 1));
  const PhaseResult& phase = result.phases[0];
  EXPECT_EQ(phase.sent, server.requests());
  EXPECT_EQ(phase.statuses.at(200) + phase.statuses.at(429) + phase.statuses.at(503), phase.sent);
  EXPECT_EQ(static_cast<int64_t>(phase.accepted.size()), phase.statuses.at(200));
  EXPECT_EQ(static_cast<int64_t>(phase.refused.size()), phase.statuses.at(429));
  EXPECT_EQ(phase.retry_after, phase.statuses.at(429));
  EXPECT_NEAR(static_cast<double>(phase.statuses.at(503)), static_cast<double>(phase.sent) / 4, 1);
  EXPECT_TRUE(phase.errors.empty());
}

/// The server stalls once for a second. Requests that were due meanwhile count with the time from
/// their intended moment, however few connections there are to send them by.
TEST(Driver, AStallCountsForAllThatWereDueMeanwhile) {
  constexpr int64_t kStalled = 50;
  for (const int connections : {2, 500}) {
    ScriptedServer server([](int64_t n, const std::string&) {
      if (n == kStalled) std::this_thread::sleep_for(std::chrono::seconds(1));
      return response(200);
    });
    Options options = open_loop(server, 200, 2);
    options.connections = connections;
    const std::vector<Arrival> arrivals = poisson_arrivals(options);
    const double stall = arrivals[kStalled].at;  // it begins then or later
    const int64_t due = std::count_if(arrivals.begin(), arrivals.end(), [&](const Arrival& a) {
      return a.at >= stall && a.at <= stall + 0.5;
    });
    ASSERT_GT(due, 50);
    const RunResult result = run_to(options);
    const PhaseResult& phase = result.phases[0];
    EXPECT_EQ(phase.statuses.at(200), static_cast<int64_t>(arrivals.size()));
    EXPECT_GE(count_over(phase.accepted, 0.5), due);
    EXPECT_GE(percentile(phase.accepted, 1), 1);
    EXPECT_LE(result.connections, connections);
    EXPECT_EQ(phase.held > 0, connections == 2);
  }
}

TEST(Driver, KeepsConnectionsAndOpensOnlyThoseItNeeds) {
  ScriptedServer server([](int64_t, const std::string&) { return response(200); });
  Options options = open_loop(server, 300, 0.5);
  options.connections = 1;
  const RunResult result = run_to(options);
  EXPECT_EQ(server.connections(), 1);
  EXPECT_EQ(result.phases[0].statuses.at(200), server.requests());
}

TEST(Driver, NamesWhatIsNoAnswer) {
  ScriptedServer server([](int64_t n, const std::string&) {
    return n % 2 == 0 ? std::string() : std::string("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
  });
  const PhaseResult phase = run_to(open_loop(server, 200, 0.5)).phases[0];
  EXPECT_TRUE(phase.statuses.empty());
  EXPECT_EQ(phase.errors.at("closed without an answer") + phase.errors.at("malformed answer"),
            phase.sent);
}

TEST(Driver, NobodyListensIsAnErrorOfEachRequest) {
  Options options;
  {
    ScriptedServer server([](int64_t, const std::string&) { return response(200); });
    options = open_loop(server, 100, 0.3);
  }
  const PhaseResult phase = run_to(options).phases[0];
  EXPECT_GT(phase.sent, 0);
  EXPECT_EQ(phase.errors.at("connect"), phase.sent);
}

TEST(Driver, AnAnswerThatNeverComesIsCountedOnceTheWaitIsOver) {
  ScriptedServer server([](int64_t n, const std::string&) {
    return n == 0 ? std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab") : response(200);
  });
  Options options = open_loop(server, 100, 0.3);
  options.drain_seconds = 2;  // a busy machine may hold up those that do come
  const PhaseResult phase = run_to(options).phases[0];
  EXPECT_EQ(phase.errors.at("no answer in time"), 1);
  EXPECT_EQ(phase.statuses.at(200), phase.sent - 1);
}

TEST(Driver, AbandonedRequestsReachTheServer) {
  ScriptedServer server([](int64_t, const std::string&) { return response(200); });
  Options options = open_loop(server, 300, 1);
  options.abandon = 0.5;
  const std::vector<Arrival> arrivals = poisson_arrivals(options);
  const int64_t leave =
      std::count_if(arrivals.begin(), arrivals.end(), [](const Arrival& a) { return a.abandoned; });
  const PhaseResult phase = run_to(options).phases[0];
  EXPECT_EQ(phase.abandoned, leave);
  EXPECT_EQ(phase.statuses.at(200), phase.sent - leave);
  EXPECT_GT(leave, phase.sent / 3);
}

TEST(Driver, PhasesAndTheWarmUpAreCountedApart) {
  ScriptedServer server([](int64_t, const std::string&) { return response(200); });
  Options options = open_loop(server, 100, 0.5);
  options.warmup = 0.3;
  options.phases.push_back({400, 0.5});
  const RunResult result = run_to(options);
  const int64_t first = result.phases[0].sent, second = result.phases[1].sent;
  EXPECT_GT(second, 2 * first);
  EXPECT_GT(server.requests(), first + second);
  EXPECT_EQ(result.phases[1].statuses.at(200), second);
}

TEST(Driver, AClosedLoopHasOneRequestAConnectionUnderWay) {
  ScriptedServer server([](int64_t, const std::string&) { return response(200); });
  Options options = open_loop(server, 0, 0.5);
  options.closed = 3;
  const RunResult result = run_to(options);
  EXPECT_EQ(server.connections(), 3);
  EXPECT_EQ(result.phases[0].statuses.at(200), result.phases[0].sent);
  EXPECT_EQ(result.phases[0].sent, server.requests());
}

TEST(Driver, RefusesWhatIsNotLoopback) {
  for (const char* address : {"10.0.0.1", "0.0.0.0", "::", "localhost.example", ""}) {
    Options options;
    options.address = address;
    options.phases = {{1, 1}};
    EXPECT_THROW(run(options, {"x"}), Error) << address;
  }
}

}  // namespace
}  // namespace hone::load
