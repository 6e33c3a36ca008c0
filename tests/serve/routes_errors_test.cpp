#include <gtest/gtest.h>

#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

struct BadBody {
  const char* path;
  std::string body;
  int status;
  const char* type;
  std::string part;  ///< stands in the message
};

TEST(RoutesErrors, ABadBodyIsAnErrorThatNamesTheField) {
  const std::string deep = "{\"inputs\":" + std::string(2000, '[') + std::string(2000, ']') + "}";
  const std::vector<BadBody> cases = {
      {"/predict", "", 422, "Validation", "body: empty"},
      {"/predict", "{", 422, "Validation", "body: not JSON"},
      {"/predict", "[]", 422, "Validation", "expected a JSON object, got a list"},
      {"/predict", "{\"inputs\":\"\xff\"}", 422, "Validation", "not UTF-8"},
      {"/predict", deep, 422, "Validation", "levels"},
      {"/predict", "{}", 422, "Validation", "`inputs`: missing"},
      {"/predict", "{\"inputs\":null}", 422, "Validation", "`inputs`: missing"},
      {"/predict", "{\"inputs\":7}", 422, "Validation", "`inputs`: expected a string, a pair"},
      {"/predict", "{\"inputs\":[\"a\",7]}", 422, "Validation",
       "`inputs[1]`: expected a string, got 7"},
      {"/predict", "{\"inputs\":[\"a\",\"b\",\"c\"]}", 422, "Validation", "/predict/batch"},
      {"/predict", "{\"inputs\":[[\"a\"],\"b\"]}", 422, "Validation", "`inputs[1]`"},
      {"/predict", "{\"inputs\":[[\"a\",\"b\",\"c\"]]}", 422, "Validation",
       "`inputs[0]`: expected one or two strings, got 3"},
      {"/predict", "{\"inputs\":[[]]}", 422, "Validation", "`inputs[0]`"},
      {"/predict", "{\"inputs\":\"a\",\"truncate\":1}", 422, "Validation",
       "`truncate`: expected true or false, got 1"},
      {"/predict", "{\"inputs\":\"a\",\"truncation_direction\":\"up\"}", 422, "Validation",
       "`truncation_direction`: expected left or right"},
      {"/predict", "{\"inputs\":\"\"}", 400, "Empty", "`inputs` cannot be empty"},
      {"/predict", "{\"inputs\":[]}", 400, "Empty", "`inputs` cannot be empty"},
      {"/predict/batch", "{\"inputs\":[\"a\",\"\"]}", 400, "Empty", "`inputs[1]` cannot be empty"},
      {"/", "{\"inputs\":\"a\",\"parameters\":{\"top_k\":0}}", 422, "Validation",
       "`parameters.top_k`: expected a whole number from 1"},
      {"/", "{\"inputs\":\"a\",\"parameters\":{\"function_to_apply\":\"max\"}}", 422, "Validation",
       "`parameters.function_to_apply`"},
      {"/tokenize", "{\"inputs\":[]}", 400, "Empty", "`inputs` cannot be empty"},
      {"/decode", "{\"ids\":[]}", 400, "Empty", "`ids` cannot be empty"},
      {"/decode", "{\"ids\":[-1]}", 422, "Validation", "`ids[0]`: expected a whole number from 0"},
      {"/decode", "{\"ids\":[1.5]}", 422, "Validation", "got 1.5"},
      {"/decode", "{\"ids\":[[1],[true]]}", 422, "Validation", "`ids[1][0]`"},
      {"/models/sentence-bert-mean/embed", "{\"inputs\":\"a\",\"prompt_name\":\"query\"}", 422,
       "Validation", "`prompt_name`: the model has no prompt of the name 'query'"},
      {"/models/sentence-bert-mean/embed", "{\"inputs\":[\"a\",[1,2]]}", 422, "Validation",
       "texts and token ids together"},
      {"/models/sentence-bert-mean/similarity",
       "{\"inputs\":{\"source_sentence\":\"a\",\"sentences\":[]}}", 400, "Empty",
       "`inputs.sentences` cannot be empty"},
  };
  for (const BadBody& bad : cases) {
    SCOPED_TRACE(std::string(bad.path) + " " + bad.body.substr(0, 80));
    const auto response = ask(golden_service(), "POST", bad.path, bad.body);
    EXPECT_EQ(response.status, bad.status);
    const Json error = Json::parse(response.body);
    EXPECT_EQ(error["error_type"], bad.type);
    EXPECT_NE(error["error"].get<std::string>().find(bad.part), std::string::npos) << error;
  }
}

TEST(RoutesErrors, TextsThemselvesAreNotInErrors) {
  const auto response =
      ask(golden_service(), "POST", "/predict", "{\"inputs\":\"a\",\"truncate\":\"my secret\"}");
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(response.body.find("secret"), std::string::npos);
}

TEST(RoutesErrors, MoreInputsThanARequestMayHaveAreRefused) {
  const std::vector<std::string> texts(33, "a");
  const auto response = post(golden_service(), "/predict/batch", {{"inputs", texts}});
  EXPECT_EQ(response.status, 422);
  EXPECT_EQ(Json::parse(response.body)["error_type"], "Validation");
  EXPECT_NE(response.body.find("maximum allowed batch size of 32"), std::string::npos);
}

TEST(RoutesErrors, UnknownPathsModelsAndMethods) {
  Service& service = golden_service();
  EXPECT_EQ(ask(service, "GET", "/nothing").status, 404);
  EXPECT_EQ(ask(service, "POST", "/models/other/predict", "{\"inputs\":\"a\"}").status, 404);
  EXPECT_EQ(ask(service, "GET", "/v2/models/other").status, 404);
  EXPECT_EQ(ask(service, "GET", "/v2/models/bert-words/versions/7").status, 404);
  const auto wrong = ask(service, "GET", "/predict");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(header_of(wrong, "Allow"), "POST");
  const auto deleted = ask(service, "DELETE", "/");
  EXPECT_EQ(deleted.status, 405);
  EXPECT_EQ(header_of(deleted, "Allow"), "GET, HEAD, POST");
  EXPECT_EQ(ask(service, "HEAD", "/health").status, 200);
}

TEST(RoutesErrors, EveryFormatHasItsOwnErrors) {
  Service& service = golden_service();
  const Json kserve = Json::parse(ask(service, "GET", "/v2/models/other").body);
  EXPECT_EQ(kserve.size(), 1u);
  EXPECT_TRUE(kserve.contains("error"));
  const Json openai = Json::parse(ask(service, "POST", "/v1/embeddings", "{}").body);
  EXPECT_EQ(openai["code"], 422);
  EXPECT_EQ(openai["type"], "Validation");
  EXPECT_TRUE(openai.contains("message"));
}

TEST(RoutesErrors, ALongTextIsCutAndSaysFromWhat) {
  Service& service = golden_service();
  std::string text;
  while (text.size() < 1'900'000) text += "film ";
  const auto response = post(service, "/predict", {{"inputs", text}});
  ASSERT_EQ(response.status, 200) << response.body.substr(0, 200);
  EXPECT_EQ(header_of(response, "x-truncated-from"), "0=380002");
  const auto refused = post(service, "/predict", {{"inputs", text}, {"truncate", false}});
  EXPECT_EQ(refused.status, 422) << refused.body.substr(0, 200);
  const auto short_one = post(service, "/predict", {{"inputs", "film"}});
  EXPECT_EQ(header_of(short_one, "x-truncated-from"), "");
}

TEST(RoutesErrors, ARequestWhoseTimeIsOverIsLate) {
  Service& service = golden_service();
  const auto late =
      post(service, "/predict", {{"inputs", "a film"}}, {{"x-request-timeout-ms", "0"}});
  EXPECT_EQ(late.status, 504) << late.body;
  EXPECT_EQ(
      post(service, "/predict", {{"inputs", "a"}}, {{"X-Request-Timeout-Ms", "60000"}}).status,
      200);
  const auto bad = post(service, "/predict", {{"inputs", "a"}}, {{"x-request-timeout-ms", "soon"}});
  EXPECT_EQ(bad.status, 422);
  EXPECT_NE(bad.body.find("x-request-timeout-ms"), std::string::npos);
}

TEST(RoutesErrors, WithAKeyOnlyHealthAndMetricsArePublic) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  options.api_key = "secret";
  Service service(std::move(options));
  service.load_all();
  const std::string body = "{\"inputs\":\"a\"}";
  const auto refused = ask(service, "POST", "/predict", body);
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(header_of(refused, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(ask(service, "POST", "/predict", body, {{"Authorization", "Bearer secre"}}).status,
            401);
  EXPECT_EQ(
      ask(service, "POST", "/predict", body, {{"Authorization", "Bearer secretsecret"}}).status,
      401);
  EXPECT_EQ(ask(service, "POST", "/predict", body, {{"Authorization", "secret"}}).status, 401);
  EXPECT_EQ(ask(service, "POST", "/predict", body, {{"authorization", "Bearer secret"}}).status,
            200);
  EXPECT_EQ(ask(service, "GET", "/info").status, 401);
  for (const char* path : {"/health", "/ping", "/metrics", "/v2/health/live", "/v2/health/ready"}) {
    EXPECT_EQ(ask(service, "GET", path).status, 200) << path;
  }
}

TEST(RoutesErrors, KeysAreComparedWhole) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secret", ""));
  EXPECT_FALSE(equal_in_constant_time("secret", "secretsecret"));
  EXPECT_FALSE(equal_in_constant_time("aaaa", "aa"));
}

}  // namespace
}  // namespace hone::serve
