#include "load/requests.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "load/summary.h"

namespace hone::load {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = testing::TempDir() + "load_requests.txt";
  std::ofstream(path) << text;
  return path;
}

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

TEST(Requests, TemplateTakesTextsByGroups) {
  Options options;
  options.texts = file_with("a \"b\"\n$COUNT\n\nc\n");
  options.body_template = R"({"n":$COUNT,"inputs":$TEXTS})";
  options.batch = 2;
  const std::vector<std::string> requests = read_requests(options);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(body_of(requests[0]), R"({"n":2,"inputs":["a \"b\"","$COUNT"]})");
  EXPECT_EQ(body_of(requests[1]), R"({"n":2,"inputs":["c","a \"b\""]})");
}

TEST(Requests, OneTextIsAString) {
  Options options;
  options.texts = file_with("x\n");
  options.body_template = R"({"inputs":$TEXT})";
  options.path = "/predict";
  options.port = 12;
  options.headers = {"x-request-timeout-ms: 5"};
  EXPECT_EQ(read_requests(options).at(0),
            "POST /predict HTTP/1.1\r\nHost: 127.0.0.1:12\r\nAccept: */*\r\n"
            "x-request-timeout-ms: 5\r\nContent-Type: application/json\r\n"
            "Content-Length: 14\r\n\r\n{\"inputs\":\"x\"}");
}

TEST(Requests, BodiesAreLines) {
  Options options;
  options.bodies = file_with("{\"a\":1}\n{\"a\":2}\n");
  const std::vector<std::string> requests = read_requests(options);
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(body_of(requests[1]), "{\"a\":2}");
  options.bodies += ".missing";
  EXPECT_THROW(read_requests(options), Error);
}

TEST(Summary, PercentilesAreOfTheNearestRank) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0.5), 50);
  EXPECT_EQ(percentile(values, 0.99), 99);
  EXPECT_EQ(percentile(values, 0.999), 100);
  EXPECT_EQ(percentile({}, 0.5), 0);
}

TEST(Summary, ALateGeneratorMakesARunInvalid) {
  PhaseResult result;
  result.sent = 2;
  result.statuses = {{200, 2}};
  result.completed = 2;
  result.accepted = {0.001, 0.002};
  result.lag = {0.001, 0.004};
  Options options;
  options.batch = 32;
  EXPECT_TRUE(summarize(result, {10, 2}, options)["valid"].get<bool>());
  EXPECT_EQ(summarize(result, {10, 2}, options)["texts_per_second"].get<double>(), 32);
  options.max_lag_ms = 3;
  EXPECT_FALSE(summarize(result, {10, 2}, options)["valid"].get<bool>());
}

}  // namespace
}  // namespace hone::load
