#include <gtest/gtest.h>

#include <cmath>

#include "infer/classify.h"
#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

constexpr auto kLogits = models::Output::logits;
constexpr auto kVectors = models::Output::embedding;
constexpr const char* kVectorModel = "/models/sentence-bert-mean";
constexpr const char* kRegression = "/models/roberta-regression";

/// Scores by label of a response's list.
std::map<std::string, float> scores_by_label(const Json& list) {
  std::map<std::string, float> scores;
  for (const Json& one : list) scores[one["label"]] = one["score"].get<float>();
  return scores;
}

std::map<std::string, float> expected_scores(const infer::Input& input) {
  const infer::Answer answer = session_answer("bert-words", kLogits, input);
  infer::Session session(golden_folder("bert-words"),
                         golden_settings("bert-words", kLogits).session);
  const auto prediction = infer::classify(session.config(), answer.values);
  std::map<std::string, float> scores;
  for (size_t i = 0; i < prediction.scores.size(); ++i) {
    scores[session.config().labels[i]] = prediction.scores[i];
  }
  return scores;
}

Json body_of(const http::Response& response) { return Json::parse(response.body); }

TEST(RoutesTei, PredictGivesAllLabelsSortedWithTheBitsOfASession) {
  Service& service = golden_service();
  const auto response = post(service, "/predict", {{"inputs", "the film was great"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json answer = body_of(response);
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_GE(answer[0]["score"], answer[1]["score"]);
  EXPECT_EQ(scores_by_label(answer), expected_scores({"the film was great", {}}));
}

TEST(RoutesTei, AListOfTwoStringsIsOnePairOnPredictAndTwoTextsOnTheBatchRoute) {
  Service& service = golden_service();
  const auto pair = post(service, "/predict", {{"inputs", {"the film", "was great"}}});
  ASSERT_EQ(pair.status, 200) << pair.body;
  EXPECT_EQ(scores_by_label(body_of(pair)), expected_scores({"the film", "was great"}));
  const auto batch = post(service, "/predict/batch", {{"inputs", {"the film", "was great"}}});
  ASSERT_EQ(batch.status, 200) << batch.body;
  ASSERT_EQ(body_of(batch).size(), 2u);
  EXPECT_EQ(scores_by_label(body_of(batch)[0]), expected_scores({"the film", {}}));
  EXPECT_EQ(scores_by_label(body_of(batch)[1]), expected_scores({"was great", {}}));
}

TEST(RoutesTei, ABatchOfListsMayMixTextsAndPairs) {
  const auto response = post(golden_service(), "/predict",
                             {{"inputs", Json::array({{"the film"}, {"the film", "was great"}})}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(scores_by_label(body_of(response)[0]), expected_scores({"the film", {}}));
  EXPECT_EQ(scores_by_label(body_of(response)[1]), expected_scores({"the film", "was great"}));
}

TEST(RoutesTei, RawScoresAreTheLogits) {
  const auto response =
      post(golden_service(), "/predict", {{"inputs", "the film"}, {"raw_scores", true}});
  const infer::Answer answer = session_answer("bert-words", kLogits, {"the film", {}});
  std::vector<float> scores;
  for (const Json& one : body_of(response)) scores.push_back(one["score"].get<float>());
  std::vector<float> expected = answer.values;
  std::sort(expected.rbegin(), expected.rend());
  EXPECT_EQ(scores, expected);
}

TEST(RoutesTei, ThePipelineRouteNestsWithParametersAndHonoursThem) {
  Service& service = golden_service();
  const auto flat = post(service, "/", {{"inputs", "the film"}});
  ASSERT_EQ(flat.status, 200);
  EXPECT_TRUE(body_of(flat)[0].is_object());
  const auto nested = post(service, "/", {{"inputs", "the film"}, {"parameters", {{"top_k", 1}}}});
  ASSERT_EQ(nested.status, 200) << nested.body;
  ASSERT_EQ(body_of(nested).size(), 1u);
  ASSERT_EQ(body_of(nested)[0].size(), 1u);
  EXPECT_EQ(body_of(nested)[0][0], body_of(flat)[0]);
  const auto logits =
      post(service, "/invocations",
           {{"inputs", "the film"}, {"parameters", {{"function_to_apply", "none"}}}});
  const infer::Answer answer = session_answer("bert-words", kLogits, {"the film", {}});
  EXPECT_EQ(body_of(logits)[0][0]["score"].get<float>(),
            *std::max_element(answer.values.begin(), answer.values.end()));
  const auto sigmoid = post(
      service, "/", {{"inputs", "the film"}, {"parameters", {{"function_to_apply", "sigmoid"}}}});
  const float best = *std::max_element(answer.values.begin(), answer.values.end());
  EXPECT_NEAR(body_of(sigmoid)[0][0]["score"].get<float>(), 1 / (1 + std::exp(-best)), 1e-6);
}

TEST(RoutesTei, EmbedHasTheBitsOfASession) {
  Service& service = golden_service();
  for (const bool normalize : {true, false}) {
    const auto response =
        post(service, std::string(kVectorModel) + "/embed",
             {{"inputs", {"the film was great", "a film"}}, {"normalize", normalize}});
    ASSERT_EQ(response.status, 200) << response.body;
    const auto expected =
        session_answer("sentence-bert-mean", kVectors, {"the film was great", {}}, normalize);
    EXPECT_EQ(body_of(response)[0].get<std::vector<float>>(), expected.values);
    EXPECT_EQ(body_of(response).size(), 2u);
  }
}

TEST(RoutesTei, EmbedAllGivesOneVectorAToken) {
  Service& service = golden_service();
  const auto response = post(service, std::string(kVectorModel) + "/embed_all",
                             {{"inputs", {"the film was great", "a film"}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json all = body_of(response);
  ASSERT_EQ(all.size(), 2u);
  ASSERT_EQ(all[0].size(), 6u);
  // The model's pooling is their mean.
  const auto pooled =
      session_answer("sentence-bert-mean", kVectors, {"the film was great", {}}).values;
  for (size_t i = 0; i < pooled.size(); ++i) {
    float sum = 0;
    for (const Json& token : all[0]) sum += token[i].get<float>();
    EXPECT_NEAR(sum / 6, pooled[i], 1e-5);
  }
  const auto one = post(service, std::string(kVectorModel) + "/embed_all", {{"inputs", "a film"}});
  EXPECT_EQ(body_of(one)[0], all[1]);
}

TEST(RoutesTei, DimensionsCutAVectorBeforeItsLengthIsOne) {
  const auto response = post(golden_service(), std::string(kVectorModel) + "/embed",
                             {{"inputs", "the film"}, {"dimensions", 4}});
  ASSERT_EQ(response.status, 200) << response.body;
  const auto vector = body_of(response)[0].get<std::vector<float>>();
  ASSERT_EQ(vector.size(), 4u);
  double sum = 0;
  for (const float x : vector) sum += double{x} * x;
  EXPECT_NEAR(sum, 1, 1e-5);
  const auto many = post(golden_service(), std::string(kVectorModel) + "/embed",
                         {{"inputs", "the film"}, {"dimensions", 4000}});
  EXPECT_EQ(many.status, 422);
}

TEST(RoutesTei, SimilarityIsTheCosineOfVectors) {
  const auto response = post(
      golden_service(), std::string(kVectorModel) + "/similarity",
      {{"inputs", {{"source_sentence", "the film"}, {"sentences", {"the film", "was great"}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const auto scores = body_of(response).get<std::vector<float>>();
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_NEAR(scores[0], 1, 1e-6);
  const auto a = session_answer("sentence-bert-mean", kVectors, {"the film", {}}, true).values;
  const auto b = session_answer("sentence-bert-mean", kVectors, {"was great", {}}, true).values;
  double dot = 0;
  for (size_t i = 0; i < a.size(); ++i) dot += double{a[i]} * b[i];
  EXPECT_NEAR(scores[1], dot, 1e-6);
}

TEST(RoutesTei, RerankSortsTextsOfAModelWithOneLabel) {
  Service& service = golden_service();
  const auto response =
      post(service, std::string(kRegression) + "/rerank",
           {{"query", "the film"}, {"texts", {"one", "two", "three"}}, {"return_text", true}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json ranks = body_of(response);
  ASSERT_EQ(ranks.size(), 3u);
  for (size_t i = 0; i + 1 < ranks.size(); ++i) EXPECT_GE(ranks[i]["score"], ranks[i + 1]["score"]);
  const std::vector<std::string> texts = {"one", "two", "three"};
  for (const Json& rank : ranks) {
    const size_t index = rank["index"];
    EXPECT_EQ(rank["text"], texts[index]);
    const float logit =
        session_answer("roberta-regression", kLogits, {"the film", texts[index]}).values[0];
    EXPECT_NEAR(rank["score"].get<float>(), 1 / (1 + std::exp(-logit)), 1e-6);
  }
  const auto refused = post(service, "/rerank", {{"query", "a"}, {"texts", {"b"}}});
  EXPECT_EQ(refused.status, 424);
  EXPECT_NE(refused.body.find("not a re-ranker"), std::string::npos);
}

TEST(RoutesTei, TokenizeSaysWhereTokensComeFrom) {
  const auto response = post(golden_service(), "/tokenize", {{"inputs", {"the film", ""}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json tokens = body_of(response);
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_TRUE(tokens[0][0]["special"].get<bool>());
  EXPECT_EQ(tokens[0][0]["text"], "[CLS]");
  EXPECT_TRUE(tokens[0][0]["start"].is_null());
  EXPECT_EQ(tokens[0][1]["text"], "the");
  EXPECT_EQ(tokens[0][1]["start"], 0);
  EXPECT_EQ(tokens[0][1]["stop"], 3);
  EXPECT_EQ(tokens[1].size(), 2u);
  const auto bare =
      post(golden_service(), "/tokenize", {{"inputs", "the film"}, {"add_special_tokens", false}});
  EXPECT_EQ(body_of(bare)[0].size(), tokens[0].size() - 2);
}

TEST(RoutesTei, DecodeGivesTheTextOfTokens) {
  Service& service = golden_service();
  const Json tokens = body_of(post(service, "/tokenize", {{"inputs", "the film"}}))[0];
  std::vector<int> ids;
  for (const Json& token : tokens) ids.push_back(token["id"]);
  const auto one = post(service, "/decode", {{"ids", ids}});
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(body_of(one)[0], "the film");
  const auto two = post(service, "/decode", {{"ids", {ids, ids}}, {"skip_special_tokens", false}});
  ASSERT_EQ(body_of(two).size(), 2u);
  EXPECT_NE(body_of(two)[0].get<std::string>().find("[CLS]"), std::string::npos);
}

TEST(RoutesTei, WhatAModelCannotDoIsSaid) {
  Service& service = golden_service();
  for (const char* path : {"/embed", "/embed_all", "/similarity"}) {
    const auto response = post(service, path, {{"inputs", "a"}});
    EXPECT_EQ(response.status, 424) << path;
    EXPECT_EQ(body_of(response)["error_type"], "Backend");
    EXPECT_NE(response.body.find("is not an embedding model; use /predict"), std::string::npos);
  }
  const auto response = post(service, std::string(kVectorModel) + "/predict", {{"inputs", "a"}});
  EXPECT_EQ(response.status, 424);
  EXPECT_NE(response.body.find("cannot predict; use /embed"), std::string::npos);
}

TEST(RoutesTei, InfoHasTheFieldsThatClientsKnow) {
  const Json info = body_of(ask(golden_service(), "GET", "/info"));
  for (const char* field :
       {"model_id", "model_sha", "model_dtype", "served_model_name", "model_type",
        "max_concurrent_requests", "max_input_length", "max_batch_tokens", "max_batch_requests",
        "max_client_batch_size", "auto_truncate", "tokenization_workers", "version", "devices",
        "kernels"}) {
    EXPECT_TRUE(info.contains(field)) << field;
  }
  EXPECT_EQ(info["model_dtype"], "float32");
  EXPECT_EQ(info["model_type"]["classifier"]["id2label"].size(), 2u);
  const Json vectors = body_of(ask(golden_service(), "GET", std::string(kVectorModel) + "/info"));
  EXPECT_EQ(vectors["model_type"]["embedding"]["pooling"], "mean");
  const Json one = body_of(ask(golden_service(), "GET", std::string(kRegression) + "/info"));
  EXPECT_TRUE(one["model_type"].contains("reranker"));
}

}  // namespace
}  // namespace hone::serve
