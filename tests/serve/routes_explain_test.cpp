#include <gtest/gtest.h>

#include <unistd.h>

#include "infer/explained_folder.h"
#include "infer/self_explainer.h"
#include "infer/word_shares.h"
#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

/// What an explainer of its own says, as a line of JSON.
Json expected_reasons(const std::string& text, int64_t steps) {
  ThreadPool pool(1);
  infer::GradientExplainer explainer(golden_folder("bert-words"), pool, {.steps = steps});
  const std::string_view view = text;
  std::string line;
  explain::append_json(explainer.explain(std::span(&view, 1)).front(), line);
  return Json::parse(line);
}

TEST(RoutesExplain, GivesTheBitsOfAnExplainerAloneAndInAList) {
  Service& service = golden_service();
  const Json expected = expected_reasons("the film was great", infer::kDefaultSteps);
  const auto one = post(service, "/explain", {{"inputs", "the film was great"}});
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(Json::parse(one.body), expected);
  EXPECT_EQ(expected["phrases"].size(), 4u);
  const auto list =
      post(service, "/explain", {{"inputs", {"a film", "the film was great"}}, {"method", "ig"}});
  ASSERT_EQ(list.status, 200) << list.body;
  ASSERT_EQ(Json::parse(list.body).size(), 2u);
  EXPECT_EQ(Json::parse(list.body)[0], expected_reasons("a film", infer::kDefaultSteps));
  EXPECT_EQ(Json::parse(list.body)[1], expected);
}

TEST(RoutesExplain, AModelThatExplainsItselfGivesItsReasonsAndGradients) {
  const std::string folder = (std::filesystem::temp_directory_path() /
                              ("hone_routes_explain_" + std::to_string(::getpid())))
                                 .string();
  infer::explained_folder(folder);
  ServiceOptions options;
  options.models = {{"own", [&] {
                       ModelSettings settings =
                           golden_settings("bert-words", models::Output::logits);
                       settings.folder = folder;
                       return settings;
                     }}};
  Service service(std::move(options));
  service.load_all();
  const std::vector<std::string_view> texts = {"the movie was not good , it was dull", "a film"};
  const auto same = [&](const Json& more, infer::TextExplainer& explainer) {
    Json body = {{"inputs", texts}};
    body.update(more);
    const auto response = post(service, "/explain", body);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.body, write_explanations(false, explainer.explain(texts)));
  };
  infer::SelfExplainer own(folder, {.threads = 1}, {});
  same(Json::object(), own);
  ThreadPool pool(1);
  infer::GradientExplainer gradients(folder, pool, {.steps = 9});
  same({{"method", "ig"}, {"steps", 9}}, gradients);
  std::filesystem::remove_all(folder);
}

TEST(RoutesExplain, AModelThatDoesNotFitTwiceIsSaid) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("hone_routes_explain_large_" + std::to_string(::getpid()));
  std::filesystem::copy(golden_folder("bert-words"), folder);
  const std::string file = folder / "config.json";
  Json config = parse_json(read_file(file), file);
  config.update({{"vocab_size", 1 << 24}, {"num_attention_heads", 256}, {"hidden_size", 1 << 16}});
  write_json(file, config);
  ModelSettings settings = golden_settings("bert-words", models::Output::logits);
  settings.folder = folder;
  ModelExplainer explainer(settings);
  ExplainAsk ask;
  ask.work.inputs.resize(1);
  try {
    explainer.explain(ask, true);
    ADD_FAILURE() << "it was explained";
  } catch (const RequestError& error) {
    EXPECT_EQ(error.failure(), Failure::backend);
    EXPECT_NE(std::string(error.what()).find("MB of memory"), std::string::npos) << error.what();
  }
  std::filesystem::remove_all(folder);
}

TEST(RoutesExplain, TakesThePointsOfThePath) {
  const auto response =
      post(golden_service(), "/explain", {{"inputs", "the film was great"}, {"steps", 3}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json::parse(response.body), expected_reasons("the film was great", 3));
  EXPECT_NE(Json::parse(response.body),
            expected_reasons("the film was great", infer::kDefaultSteps));
}

TEST(RoutesExplain, SaysTheLabelThatPredictSays) {
  Service& service = golden_service();
  const Json reasons = Json::parse(post(service, "/explain", {{"inputs", "a bad plot"}}).body);
  const Json answer = Json::parse(post(service, "/predict", {{"inputs", "a bad plot"}}).body);
  EXPECT_EQ(reasons["label"], answer[0]["label"]);
  EXPECT_EQ(reasons["score"].get<float>(), answer[0]["score"].get<float>());
}

TEST(RoutesExplain, WhatItCannotDoIsNamed) {
  Service& service = golden_service();
  const auto refusal = [&](const std::string& path, const Json& body) {
    const auto response = post(service, path, body);
    return std::to_string(response.status) + " " + response.body;
  };
  EXPECT_NE(
      refusal("/models/sentence-bert-mean/explain", {{"inputs", "a"}}).find("it cannot predict"),
      std::string::npos);
  EXPECT_EQ(refusal("/explain", {{"inputs", "a"}, {"method", "lime"}})
                .find("422 {\"error\":\"`method`: expected ig"),
            0u)
      << refusal("/explain", {{"inputs", "a"}, {"method", "lime"}});
  EXPECT_NE(refusal("/explain", {{"inputs", "a"}, {"steps", 0}}).find("`steps`"),
            std::string::npos);
  EXPECT_NE(refusal("/explain", {{"inputs", "a"}, {"truncation_direction", "left"}})
                .find("cut on the right"),
            std::string::npos);
  std::string longest;
  for (int i = 0; i < 40; ++i) longest += "film ";
  EXPECT_NE(refusal("/explain", {{"inputs", longest}, {"truncate", false}}).find("42 tokens"),
            std::string::npos);
  const auto cut = post(service, "/explain", {{"inputs", longest}, {"truncate", true}});
  EXPECT_TRUE(Json::parse(cut.body)["truncated"].get<bool>()) << cut.body;
}

TEST(RoutesExplain, IsCountedAndDescribedLikeOtherRoutes) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  Service service(std::move(options));
  service.load_all();
  std::string longest;
  for (int i = 0; i < 40; ++i) longest += "film ";
  const auto response = post(service, "/explain", {{"inputs", {"a é", longest}}, {"steps", 1}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(header_of(response, "x-truncated-from"), "1=42");
  EXPECT_EQ(header_of(response, "x-compute-type"), "cpu");
  EXPECT_EQ(header_of(response, "x-compute-characters"), "203");
  const Json told = Json::parse(response.body);
  const int64_t tokens = told[0]["tokens"].get<int64_t>() + told[1]["tokens"].get<int64_t>();
  EXPECT_EQ(header_of(response, "x-compute-tokens"), std::to_string(tokens));
  for (const char* name : {"x-compute-time", "x-total-time", "x-tokenization-time", "x-queue-time",
                           "x-inference-time"}) {
    EXPECT_FALSE(header_of(response, name).empty()) << name;
  }
  post(service, "/explain", {{"inputs", "a"}}, {{"x-request-timeout-ms", "0"}});
  EXPECT_EQ(
      header_of(post(service, "/explain", {{"inputs", "a"}, {"steps", 1}}), "x-truncated-from"),
      "");
  const std::string metrics = service.metrics_text();
  for (const char* line :
       {"te_request_count{method=\"single\"} 2\n", "te_request_count{method=\"batch\"} 1\n",
        "te_request_success{method=\"single\"} 1\n", "te_request_success{method=\"batch\"} 1\n",
        "te_explain_count 4\n", "te_explain_success 3\n", "te_explain_duration_count 2\n",
        "te_request_duration_count 2\n", "te_request_input_length_count 3\n",
        "te_predict_count 0\n", "hone_truncated_total 1\n"}) {
    EXPECT_NE(metrics.find(std::string("\n") + line), std::string::npos) << line;
  }
}

TEST(RoutesExplain, ALateRequestIsNotComputed) {
  const auto response =
      post(golden_service(), "/explain", {{"inputs", "a"}}, {{"x-request-timeout-ms", "0"}});
  EXPECT_EQ(response.status, 504) << response.body;
}

TEST(RoutesExplain, AModelUnderABudgetSaysThatItCannot) {
  ServiceOptions options;
  options.models = {{"small", [] {
                       ModelSettings settings =
                           golden_settings("bert-words", models::Output::logits);
                       settings.session.memory_budget = uint64_t{1} << 30;
                       return settings;
                     }}};
  Service service(std::move(options));
  service.load_all();
  const auto response = post(service, "/explain", {{"inputs", "a"}});
  EXPECT_NE(response.body.find("memory budget"), std::string::npos) << response.body;
}

TEST(RoutesExplain, AModelThatIsLoadedAnewIsOpenedAnew) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  Service service(std::move(options));
  service.load_all();
  const auto before = post(service, "/explain", {{"inputs", "a film"}});
  service.load_all();
  EXPECT_EQ(post(service, "/explain", {{"inputs", "a film"}}).body, before.body);
}

}  // namespace
}  // namespace hone::serve
