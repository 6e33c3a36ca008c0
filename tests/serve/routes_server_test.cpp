#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "serve/fake_exchange.h"
#include "serve/page.h"

namespace hone::serve {
namespace {

TEST(RoutesServer, HealthIsReadyUntilItDrains) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  Service service(std::move(options));
  EXPECT_EQ(ask(service, "GET", "/health").status, 503);
  EXPECT_EQ(ask(service, "POST", "/predict", "{\"inputs\":\"a\"}").status, 503);
  service.load_all();
  EXPECT_EQ(ask(service, "GET", "/v2/models/bert-words/ready").status, 200);
  EXPECT_EQ(ask(service, "GET", "/v2/health/live").status, 200);
  service.drain();
  for (const char* path :
       {"/health", "/ping", "/", "/v2/health/ready", "/v2/models/bert-words/ready"}) {
    EXPECT_EQ(ask(service, "GET", path).status, 503) << path;
  }
  EXPECT_EQ(ask(service, "GET", "/v2/health/live").status, 200);
  EXPECT_EQ(ask(service, "POST", "/predict", "{\"inputs\":\"a\"}").status, 200);
}

TEST(RoutesServer, ARequestIdIsEchoedOrMade) {
  Service& service = golden_service();
  const auto echoed = ask(service, "GET", "/info", "", {{"X-Request-Id", "abc-123"}});
  EXPECT_EQ(header_of(echoed, "x-request-id"), "abc-123");
  const auto made = ask(service, "GET", "/info");
  const auto other = ask(service, "GET", "/info", "", {{"x-request-id", "has space"}});
  EXPECT_FALSE(header_of(made, "x-request-id").empty());
  EXPECT_NE(header_of(made, "x-request-id"), header_of(other, "x-request-id"));
  EXPECT_NE(header_of(other, "x-request-id"), "has space");
}

TEST(RoutesServer, AnswersSayHowLongTheyTookAndWhatTheyHad) {
  const auto response = post(golden_service(), "/predict/batch", {{"inputs", {"the film", "é"}}});
  ASSERT_EQ(response.status, 200);
  for (const char* name : {"x-compute-type", "x-compute-time", "x-total-time",
                           "x-tokenization-time", "x-queue-time", "x-inference-time"}) {
    EXPECT_FALSE(header_of(response, name).empty()) << name;
  }
  EXPECT_EQ(header_of(response, "x-compute-type"), "cpu");
  EXPECT_EQ(header_of(response, "x-compute-characters"), "9");
  EXPECT_EQ(header_of(response, "x-compute-tokens"), "7");
}

TEST(RoutesServer, CorsIsOffUnlessAskedFor) {
  const auto off = ask(golden_service(), "GET", "/health", "", {{"Origin", "http://a.example"}});
  EXPECT_EQ(header_of(off, "Access-Control-Allow-Origin"), "");
  EXPECT_EQ(ask(golden_service(), "OPTIONS", "/predict").status, 405);
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  options.cors.origins = {"http://a.example"};
  Service service(std::move(options));
  service.load_all();
  const auto allowed = ask(service, "GET", "/health", "", {{"Origin", "http://a.example"}});
  EXPECT_EQ(header_of(allowed, "Access-Control-Allow-Origin"), "http://a.example");
  const auto other = ask(service, "GET", "/health", "", {{"Origin", "http://b.example"}});
  EXPECT_EQ(header_of(other, "Access-Control-Allow-Origin"), "");
  const auto preflight = ask(service, "OPTIONS", "/predict", "", {{"Origin", "http://a.example"}});
  EXPECT_EQ(preflight.status, 204);
  EXPECT_NE(header_of(preflight, "Access-Control-Allow-Methods").find("POST"), std::string::npos);
}

TEST(RoutesServer, BrowsersGetAPageThatAsksNobodyElse) {
  Service& service = golden_service();
  const auto page = ask(service, "GET", "/", "", {{"Accept", "text/html,*/*"}});
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.content_type.starts_with("text/html"));
  EXPECT_EQ(page.body, index_page());
  EXPECT_NE(header_of(page, "Content-Security-Policy").find("default-src 'none'"),
            std::string::npos);
  for (const std::string_view file : {index_page(), docs_page()}) {
    // The only addresses are names of XML, which nobody asks for.
    for (size_t at = file.find("://"); at != std::string_view::npos;
         at = file.find("://", at + 1)) {
      EXPECT_EQ(file.substr(at, 13), "://www.w3.org") << file.substr(at, 40);
    }
  }
  EXPECT_NE(ask(service, "GET", "/").body, page.body);
}

TEST(RoutesServer, TheDocumentOfRoutesHasThemAll) {
  const auto response = ask(golden_service(), "GET", "/api-doc/openapi.json");
  const Json paths = Json::parse(response.body)["paths"];
  std::set<std::string> documented;
  for (const auto& [path, methods] : paths.items()) {
    for (const auto& [method, about] : methods.items()) documented.insert(method + " " + path);
  }
  for (const RouteEntry& route : routes()) {
    if (route.route == Route::docs || route.route == Route::openapi) continue;
    std::string path(route.pattern);
    for (const auto& [from, to] : {std::pair("{m}", "{model}"), std::pair("{v}", "{version}")}) {
      if (const size_t at = path.find(from); at != std::string::npos) path.replace(at, 3, to);
    }
    EXPECT_TRUE(documented.contains((route.method == "GET" ? "get " : "post ") + path)) << path;
  }
  EXPECT_EQ(ask(golden_service(), "GET", "/docs").status, 200);
}

TEST(RoutesServer, MetricsCountRequestsInputsAndFailures) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  Service service(std::move(options));
  service.load_all();
  post(service, "/predict", {{"inputs", "a film"}});
  post(service, "/predict/batch", {{"inputs", {"a", "b", "c"}}});
  post(service, "/predict", {{"inputs", 1}});
  post(service, "/predict", {{"inputs", "a"}}, {{"x-request-timeout-ms", "0"}});
  const std::string text = ask(service, "GET", "/metrics").body;
  for (const char* line :
       {"te_request_count{method=\"single\"} 2\n", "te_request_count{method=\"batch\"} 1\n",
        "te_request_success{method=\"single\"} 1\n", "te_request_success{method=\"batch\"} 1\n",
        "te_request_failure{err=\"validation\"} 1\n", "te_request_failure{err=\"late\"} 1\n",
        "te_predict_count 5\n", "te_predict_success 4\n", "te_request_duration_count 2\n",
        "te_predict_inference_duration_count 2\n", "te_request_input_length_count 4\n",
        "te_queue_size 0\n", "hone_late_total 1\n", "hone_models 1\n"}) {
    EXPECT_NE(text.find(std::string("\n") + line), std::string::npos)
        << line << text.substr(0, 500);
  }
}

TEST(RoutesServer, WhatIsNoRequestIsRefusedInTheSameForm) {
  ServiceOptions options;
  options.cors.origins = {"*"};
  Service service(std::move(options));
  http::Request request;
  request.method = "POST";
  request.path = "/v1/embeddings";
  request.headers = {{"X-Request-Id", "abc-123"}, {"Origin", "http://a.example"}};
  const auto read = service.refuse(request, 413, "the body is too large");
  EXPECT_EQ(read.status, 413);
  EXPECT_TRUE(read.close);
  EXPECT_EQ(header_of(read, "x-request-id"), "abc-123");
  EXPECT_EQ(header_of(read, "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(Json::parse(read.body)["message"], "the body is too large");
  const auto unread = service.refuse({}, 505, "the HTTP version is neither 1.0 nor 1.1");
  EXPECT_EQ(Json::parse(unread.body)["error"], "the HTTP version is neither 1.0 nor 1.1");
  EXPECT_FALSE(header_of(unread, "x-request-id").empty());
  const std::string metrics = service.metrics_text();
  for (const char* line :
       {"hone_responses_total{code=\"4xx\"} 1\n", "hone_responses_total{code=\"5xx\"} 1\n",
        "te_request_failure{err=\"malformed\"} 2\n"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << line;
  }
}

TEST(RoutesServer, PromptsOfAFolderComeBeforeTexts) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("hone-prompts-" + std::to_string(::getpid()));
  std::filesystem::copy(golden_folder("sentence-bert-mean"), folder,
                        std::filesystem::copy_options::recursive);
  write_json((folder / "config_sentence_transformers.json").string(),
             {{"prompts", {{"query", "the "}}}});
  {
    ServiceOptions options;
    options.models = {{"m", [=] {
                         auto settings =
                             golden_settings("sentence-bert-mean", models::Output::embedding);
                         settings.folder = folder.string();
                         return settings;
                       }}};
    Service service(std::move(options));
    service.load_all();
    const auto with = post(service, "/embed", {{"inputs", "film"}, {"prompt_name", "query"}});
    ASSERT_EQ(with.status, 200) << with.body;
    EXPECT_EQ(with.body, post(service, "/embed", {{"inputs", "the film"}}).body);
    EXPECT_NE(with.body, post(service, "/embed", {{"inputs", "film"}}).body);
    EXPECT_EQ(
        with.body,
        post(service, "/", {{"inputs", "film"}, {"parameters", {{"prompt_name", "query"}}}}).body);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone::serve
