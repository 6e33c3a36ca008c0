#include <gtest/gtest.h>

#include <cstring>

#include "serve/fake_exchange.h"
#include "text/base64.h"

namespace hone::serve {
namespace {

std::vector<float> unit_vector(const std::string& text) {
  return session_answer("sentence-bert-mean", models::Output::embedding, {text, {}}, true).values;
}

TEST(RoutesOpenAi, EmbeddingsAsFloatsAndAsBase64AreTheSame) {
  Service& service = golden_service();
  const auto floats = post(service, "/v1/embeddings",
                           {{"model", "sentence-bert-mean"}, {"input", {"the film", "a"}}});
  ASSERT_EQ(floats.status, 200) << floats.body;
  const Json list = Json::parse(floats.body);
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["model"], "sentence-bert-mean");
  ASSERT_EQ(list["data"].size(), 2u);
  EXPECT_EQ(list["data"][1]["index"], 1);
  EXPECT_EQ(list["data"][0]["embedding"].get<std::vector<float>>(), unit_vector("the film"));
  EXPECT_EQ(list["usage"]["prompt_tokens"], list["usage"]["total_tokens"]);
  const auto coded =
      post(service, "/embeddings",
           {{"model", "sentence-bert-mean"}, {"input", "the film"}, {"encoding_format", "base64"}});
  ASSERT_EQ(coded.status, 200) << coded.body;
  const std::string bytes = text::decode_base64(
      Json::parse(coded.body)["data"][0]["embedding"].get<std::string>(), "", "");
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  EXPECT_EQ(values, unit_vector("the film"));
}

TEST(RoutesOpenAi, TokenIdsAreInputsToo) {
  Service& service = golden_service();
  const Json tokens = Json::parse(
      post(service, "/models/sentence-bert-mean/tokenize", {{"inputs", "the film"}}).body)[0];
  std::vector<int> ids;
  for (const Json& token : tokens) ids.push_back(token["id"]);
  for (const Json& input : {Json(ids), Json::array({ids})}) {
    const auto response =
        post(service, "/models/sentence-bert-mean/v1/embeddings", {{"input", input}});
    ASSERT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(Json::parse(response.body)["data"][0]["embedding"].get<std::vector<float>>(),
              unit_vector("the film"));
  }
  const auto unknown =
      post(service, "/models/sentence-bert-mean/v1/embeddings", {{"input", {1 << 30}}});
  EXPECT_EQ(unknown.status, 422) << unknown.body;
}

TEST(RoutesOpenAi, ClassifyGivesTheLabelAndAllProbabilities) {
  const auto response =
      post(golden_service(), "/v1/classify", {{"model", "bert-words"}, {"input", "the film"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json answer = Json::parse(response.body);
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("classify-"));
  EXPECT_EQ(answer["object"], "list");
  const Json& one = answer["data"][0];
  EXPECT_EQ(one["num_classes"], 2);
  EXPECT_EQ(one["probs"].size(), 2u);
  const Json labels =
      Json::parse(post(golden_service(), "/predict", {{"inputs", "the film"}}).body);
  EXPECT_EQ(one["label"], labels[0]["label"]);
  EXPECT_EQ(std::max(one["probs"][0].get<float>(), one["probs"][1].get<float>()),
            labels[0]["score"].get<float>());
}

TEST(RoutesOpenAi, ACutInputSaysFromWhat) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "film ";
  const auto response =
      post(golden_service(), "/v1/classify", {{"model", "bert-words"}, {"input", text}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json::parse(response.body)["data"][0]["truncated_from"], 3002);
}

TEST(RoutesOpenAi, WithSeveralModelsTheNameHasToBeKnown) {
  const auto response =
      post(golden_service(), "/v1/embeddings", {{"model", "gpt"}, {"input", "a"}});
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(Json::parse(response.body)["type"], "NotFound");
  ServiceOptions options;
  options.models = {golden_spec("sentence-bert-mean", models::Output::embedding)};
  Service service(std::move(options));
  service.load_all();
  EXPECT_EQ(post(service, "/v1/embeddings", {{"model", "gpt"}, {"input", "a"}}).status, 200);
}

TEST(RoutesOpenAi, ModelsAreListed) {
  const Json list = Json::parse(ask(golden_service(), "GET", "/v1/models").body);
  ASSERT_EQ(list["data"].size(), 3u);
  EXPECT_EQ(list["data"][0]["id"], "bert-words");
  EXPECT_EQ(Json::parse(ask(golden_service(), "GET", "/v1/models/bert-words").body)["id"],
            "bert-words");
  EXPECT_EQ(ask(golden_service(), "GET", "/v1/models/other").status, 404);
}

TEST(RoutesOpenAi, BadFieldsAreNamed) {
  for (const auto& [body, part] : std::vector<std::pair<Json, std::string>>{
           {{{"input", Json::array()}}, "`input` cannot be empty"},
           {{{"input", Json::array({Json::array({"a", "b"})})}}, "`input[0][0]`"},
           {{{"input", "a"}, {"encoding_format", "hex"}}, "`encoding_format`"},
           {{{"input", "a"}, {"dimensions", 0}}, "`dimensions`"},
           {{{"model", 1}, {"input", "a"}}, "`model`"}}) {
    const auto response = post(golden_service(), "/v1/embeddings", body);
    EXPECT_GE(response.status, 400) << body;
    EXPECT_NE(Json::parse(response.body)["message"].get<std::string>().find(part),
              std::string::npos)
        << response.body;
  }
}

}  // namespace
}  // namespace hone::serve
