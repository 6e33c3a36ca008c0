// Requests under overload, of clients that leave, and to models that fail.
#include <gtest/gtest.h>

#include <thread>

#include "serve/engine_fixture.h"
#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

std::shared_ptr<FakeExchange> start_predict(Service& service, const std::string& text,
                                            std::vector<http::Header> headers = {}) {
  http::Request request;
  request.method = "POST";
  request.path = "/predict";
  request.headers = std::move(headers);
  request.body = Json{{"inputs", text}}.dump();
  auto exchange = std::make_shared<FakeExchange>(std::move(request));
  service.handle(exchange);
  return exchange;
}

ServiceOptions served_by(ModelSettings settings) {
  ServiceOptions options;
  options.models = {{"m", [settings] { return settings; }}};
  return options;
}

bool counts(Service& service, const std::string& line) {
  return service.metrics_text().find("\n" + line + "\n") != std::string::npos;
}

TEST(RoutesFailure, AFullQueueIsOverloadThatSaysWhenToComeAgain) {
  StepControl control;
  ModelSettings settings = served_settings(&control);
  settings.max_queue_inputs = 2;
  Service service(served_by(settings));
  service.load_all();
  control.hold();
  const auto first = start_predict(service, "the film");
  control.wait_until_held();
  const auto second = start_predict(service, "the film");
  const auto refused = start_predict(service, "the film")->wait();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(Json::parse(refused.body)["error_type"], "Overloaded");
  EXPECT_GE(std::stoi(header_of(refused, "Retry-After")), 1);
  EXPECT_FALSE(header_of(refused, "x-request-id").empty());
  EXPECT_TRUE(counts(service, "te_queue_size 1"));
  control.let_go();
  EXPECT_EQ(first->wait().status, 200);
  EXPECT_EQ(second->wait().status, 200);
  EXPECT_TRUE(counts(service, "te_request_failure{err=\"overloaded\"} 1"));
  EXPECT_EQ(start_predict(service, "the film")->wait().status, 200);
}

TEST(RoutesFailure, AClientThatLeavesIsDroppedFromTheQueue) {
  StepControl control;
  Service service(served_by(served_settings(&control)));
  service.load_all();
  control.hold();
  const auto first = start_predict(service, "the film");
  control.wait_until_held();
  const auto gone = start_predict(service, "the film");
  gone->leave();
  control.let_go();
  EXPECT_EQ(first->wait().status, 200);
  EXPECT_EQ(gone->wait().status, 499);
  EXPECT_TRUE(counts(service, "hone_abandoned_total 1"));
  EXPECT_TRUE(counts(service, "te_predict_success 1"));
}

TEST(RoutesFailure, ARequestThatWaitedTooLongIsNotComputed) {
  StepControl control;
  Service service(served_by(served_settings(&control)));
  service.load_all();
  control.hold();
  const auto first = start_predict(service, "the film");
  control.wait_until_held();
  const auto late = start_predict(service, "the film", {{"x-request-timeout-ms", "1"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  control.let_go();
  EXPECT_EQ(first->wait().status, 200);
  const auto response = late->wait();
  EXPECT_EQ(response.status, 504);
  EXPECT_EQ(Json::parse(response.body)["error_type"], "Timeout");
  EXPECT_TRUE(counts(service, "hone_late_total 1"));
}

TEST(RoutesFailure, AnAnswerThatIsNoNumberIsThatRequestsError) {
  const DamagedFolder folder("routes-nan");
  folder.spoil_token(18);  // "film"
  ModelSettings settings = served_settings();
  settings.folder = folder.path();
  Service service(served_by(settings));
  service.load_all();
  const auto bad = start_predict(service, "the film")->wait();
  EXPECT_EQ(bad.status, 424);
  EXPECT_EQ(Json::parse(bad.body)["error_type"], "Backend");
  EXPECT_NE(bad.body.find("not a finite number"), std::string::npos);
  EXPECT_EQ(start_predict(service, "the movie")->wait().status, 200);
  const Json tensor = {
      {"name", "text"}, {"shape", {1}}, {"datatype", "BYTES"}, {"data", {"the film"}}};
  EXPECT_EQ(post(service, "/v2/models/m/infer", {{"inputs", {tensor}}}).status, 424);
  EXPECT_EQ(post(service, "/v1/classify", {{"input", "the film"}}).status, 424);
  const auto unexplained = post(service, "/explain", {{"inputs", "the film"}, {"steps", 2}});
  EXPECT_EQ(unexplained.status, 424) << unexplained.body;
  EXPECT_EQ(post(service, "/explain", {{"inputs", "the movie"}, {"steps", 2}}).status, 200);
  EXPECT_EQ(ask(service, "GET", "/health").status, 200);
}

TEST(RoutesFailure, ADeviceThatFailsIs424AndThen503) {
  StepControl control;
  Service service(served_by(served_settings(&control)));
  service.load_all();
  control.let_fail(1);
  EXPECT_EQ(start_predict(service, "the film")->wait().status, 424);
  EXPECT_EQ(start_predict(service, "the film")->wait().status, 200) << "it was opened anew";
  control.let_fail(1000);
  EXPECT_EQ(start_predict(service, "the film")->wait().status, 424);
  EXPECT_EQ(ask(service, "GET", "/v2/models/m/ready").status, 503);
  EXPECT_EQ(ask(service, "GET", "/health").status, 503);
  EXPECT_EQ(start_predict(service, "the film")->wait().status, 503);
}

}  // namespace
}  // namespace hone::serve
