#include <gtest/gtest.h>

#include <cstring>

#include "serve/fake_exchange.h"

namespace hone::serve {
namespace {

constexpr const char* kInfer = "/v2/models/bert-words/infer";

Json text_tensor(const std::vector<std::string>& texts) {
  return {{"name", "text"}, {"shape", {texts.size()}}, {"datatype", "BYTES"}, {"data", texts}};
}

/// Elements as Triton's clients write them.
std::string packed_texts(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    const auto length = static_cast<uint32_t>(text.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(text);
  }
  return bytes;
}

http::Response infer_binary(const Json& header, const std::string& bytes,
                            const std::string& path = kInfer) {
  const std::string json = header.dump();
  return ask(golden_service(), "POST", path, json + bytes,
             {{"Inference-Header-Content-Length", std::to_string(json.size())}});
}

std::vector<float> expected_logits(const std::string& text) {
  return session_answer("bert-words", models::Output::logits, {text, {}}).values;
}

TEST(RoutesKserve, InferAnswersTensorsInJson) {
  const auto response = post(golden_service(), kInfer,
                             {{"id", "7"},
                              {"inputs", {text_tensor({"the film", "was great"})}},
                              {"outputs", {{{"name", "logits"}}, {{"name", "label"}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json answer = Json::parse(response.body);
  EXPECT_EQ(answer["model_name"], "bert-words");
  EXPECT_EQ(answer["model_version"], "1");
  EXPECT_EQ(answer["id"], "7");
  ASSERT_EQ(answer["outputs"].size(), 2u);
  const Json& logits = answer["outputs"][0];
  EXPECT_EQ(logits["datatype"], "FP32");
  EXPECT_EQ(logits["shape"], Json({2, 2}));
  std::vector<float> expected = expected_logits("the film");
  const std::vector<float> second = expected_logits("was great");
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(logits["data"].get<std::vector<float>>(), expected);
  EXPECT_EQ(answer["outputs"][1]["datatype"], "BYTES");
  EXPECT_EQ(answer["outputs"][1]["shape"], Json({2}));
}

TEST(RoutesKserve, BinaryTensorsGoBothWays) {
  const std::string bytes = packed_texts({"the film"});
  const Json header = {{"inputs",
                        {{{"name", "text"},
                          {"shape", {1, 1}},
                          {"datatype", "BYTES"},
                          {"parameters", {{"binary_data_size", bytes.size()}}}}}},
                       {"outputs",
                        {{{"name", "label"}, {"parameters", {{"binary_data", true}}}},
                         {{"name", "logits"}, {"parameters", {{"binary_data", true}}}},
                         {{"name", "scores"}, {"parameters", {{"binary_data", false}}}}}}};
  const auto response = infer_binary(header, bytes);
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.content_type, "application/octet-stream");
  const size_t length = std::stoul(header_of(response, "Inference-Header-Content-Length"));
  const Json answer = Json::parse(response.body.substr(0, length));
  const size_t label = answer["outputs"][0]["parameters"]["binary_data_size"];
  const size_t logits = answer["outputs"][1]["parameters"]["binary_data_size"];
  ASSERT_EQ(response.body.size(), length + label + logits);
  EXPECT_FALSE(answer["outputs"][2].contains("parameters"));
  std::vector<float> values(logits / sizeof(float));
  std::memcpy(values.data(), response.body.data() + length + label, logits);
  EXPECT_EQ(values, expected_logits("the film"));
  uint32_t size = 0;
  std::memcpy(&size, response.body.data() + length, sizeof size);
  EXPECT_EQ(size + sizeof size, label);
}

TEST(RoutesKserve, WithoutOutputsAllComeAsTheClientAsks) {
  const std::string bytes = packed_texts({"the film"});
  const Json tensor = {{"name", "text"},
                       {"shape", {1}},
                       {"datatype", "BYTES"},
                       {"parameters", {{"binary_data_size", bytes.size()}}}};
  const auto binary =
      infer_binary({{"inputs", {tensor}}, {"parameters", {{"binary_data_output", true}}}}, bytes);
  ASSERT_EQ(binary.status, 200) << binary.body;
  const size_t length = std::stoul(header_of(binary, "Inference-Header-Content-Length"));
  EXPECT_EQ(Json::parse(binary.body.substr(0, length))["outputs"].size(), 3u);
  const auto plain = infer_binary({{"inputs", {tensor}}}, bytes);
  EXPECT_EQ(header_of(plain, "Inference-Header-Content-Length"), "");
  EXPECT_EQ(Json::parse(plain.body)["outputs"].size(), 3u);
}

TEST(RoutesKserve, ClassesAreTheBestLabelsAsStrings) {
  const auto response =
      post(golden_service(), kInfer,
           {{"inputs", {text_tensor({"the film"})}},
            {"outputs", {{{"name", "scores"}, {"parameters", {{"classification", 1}}}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json output = Json::parse(response.body)["outputs"][0];
  EXPECT_EQ(output["datatype"], "BYTES");
  EXPECT_EQ(output["shape"], Json({1, 1}));
  const std::string best = output["data"][0];
  EXPECT_EQ(std::count(best.begin(), best.end(), ':'), 2);
}

TEST(RoutesKserve, PairsAreASecondTensor) {
  Json pair = text_tensor({"was great"});
  pair["name"] = "text_pair";
  const auto response =
      post(golden_service(), kInfer,
           {{"inputs", {text_tensor({"the film"}), pair}}, {"outputs", {{{"name", "logits"}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json::parse(response.body)["outputs"][0]["data"].get<std::vector<float>>(),
            session_answer("bert-words", models::Output::logits, {"the film", "was great"}).values);
}

TEST(RoutesKserve, AVectorModelGivesWhatItsFolderSays) {
  const auto response = post(golden_service(), "/v2/models/sentence-bert-mean/versions/1/infer",
                             {{"inputs", {text_tensor({"the film"})}}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json output = Json::parse(response.body)["outputs"][0];
  EXPECT_EQ(output["name"], "embedding");
  EXPECT_EQ(output["data"].get<std::vector<float>>(),
            session_answer("sentence-bert-mean", models::Output::embedding, {"the film", {}}, true)
                .values);
}

TEST(RoutesKserve, BadTensorsAreNamed) {
  const auto refused = [](const Json& body, const std::string& part) {
    const auto response = post(golden_service(), kInfer, body);
    EXPECT_EQ(response.status, 422) << response.body;
    EXPECT_NE(response.body.find(part), std::string::npos) << response.body;
  };
  Json tensor = text_tensor({"a"});
  tensor["shape"] = {2};
  refused({{"inputs", {tensor}}}, "`inputs[0].data`: expected 2 elements");
  tensor["shape"] = {1, 2, 3};
  refused({{"inputs", {tensor}}}, "`inputs[0].shape`");
  tensor["shape"] = {-1};
  refused({{"inputs", {tensor}}}, "`inputs[0].shape[0]`");
  tensor = text_tensor({"a"});
  tensor["datatype"] = "FP32";
  refused({{"inputs", {tensor}}}, "`inputs[0].datatype`: expected BYTES");
  refused({{"inputs", {text_tensor({"a"})}}, {"outputs", {{{"name", "other"}}}}},
          "no output 'other'");
  refused({{"inputs", {text_tensor({"a"}), text_tensor({"a"})}}}, "one tensor");
  refused({{"inputs", Json::array()}}, "one tensor");
}

TEST(RoutesKserve, BadBytesAreNamed) {
  const auto header = [](size_t size, int64_t shape) -> Json {
    return {{"inputs",
             {{{"name", "text"},
               {"shape", {shape}},
               {"datatype", "BYTES"},
               {"parameters", {{"binary_data_size", size}}}}}}};
  };
  const auto refused = [](const http::Response& response, const std::string& part) {
    EXPECT_EQ(response.status, 422) << response.body;
    EXPECT_NE(response.body.find(part), std::string::npos) << response.body;
  };
  const std::string good = packed_texts({"a film"});
  refused(infer_binary(header(good.size() + 1, 1), good), "binary_data_size");
  refused(infer_binary(header(good.size(), 2), good), "expected 2 elements");
  refused(infer_binary(header(good.size(), 1), good + "x"), "1 bytes behind the last tensor");
  refused(infer_binary(header(3, 1), good.substr(0, 3)), "no whole element");
  refused(infer_binary(header(good.size() - 1, 1), good.substr(0, good.size() - 1)),
          "longer than its tensor");
  const std::string bad = packed_texts({"\xff"});
  refused(infer_binary(header(bad.size(), 1), bad), "not UTF-8");
  refused(ask(golden_service(), "POST", kInfer, "{}", {{"Inference-Header-Content-Length", "3"}}),
          "Inference-Header-Content-Length");
  refused(ask(golden_service(), "POST", kInfer, "{}", {{"Inference-Header-Content-Length", "-1"}}),
          "Inference-Header-Content-Length");
}

TEST(RoutesKserve, ServerAndModelsDescribeThemselves) {
  Service& service = golden_service();
  EXPECT_EQ(Json::parse(ask(service, "GET", "/v2").body)["name"], "hone");
  const Json model = Json::parse(ask(service, "GET", "/v2/models/bert-words/versions/1").body);
  EXPECT_EQ(model["name"], "bert-words");
  EXPECT_EQ(model["inputs"][0]["datatype"], "BYTES");
  EXPECT_EQ(model["outputs"][0]["shape"], Json({-1, 2}));
  EXPECT_EQ(ask(service, "GET", "/v2/models/bert%2Dwords").status, 200);
  EXPECT_EQ(ask(service, "GET", "/v2/models/bert%2words").status, 422);
}

TEST(RoutesKserve, ModelsAreUnloadedAndLoaded) {
  ServiceOptions options;
  options.models = {golden_spec("bert-words", models::Output::logits)};
  bool broken = false;
  options.models.push_back({"other", [&broken] {
                              auto settings = golden_settings("bert-words", models::Output::logits);
                              if (broken) settings.folder = "/nowhere";
                              return settings;
                            }});
  Service service(std::move(options));
  service.load_all();
  const auto states = [&] {
    std::map<std::string, std::string> out;
    const Json index = Json::parse(ask(service, "POST", "/v2/repository/index").body);
    for (const Json& one : index) out[one["name"]] = one["state"];
    return out;
  };
  using States = std::map<std::string, std::string>;
  EXPECT_EQ(states(), (States{{"bert-words", "READY"}, {"other", "READY"}}));
  EXPECT_EQ(ask(service, "POST", "/v2/repository/models/other/unload").status, 200);
  EXPECT_EQ(states(), (States{{"bert-words", "READY"}, {"other", "UNAVAILABLE"}}));
  EXPECT_EQ(ask(service, "GET", "/v2/models/other").status, 404);
  EXPECT_EQ(ask(service, "POST", "/v2/repository/models/other/load").status, 200);
  EXPECT_EQ(ask(service, "GET", "/v2/models/other").status, 200);
  broken = true;
  const auto failed = ask(service, "POST", "/v2/repository/models/other/load");
  EXPECT_EQ(failed.status, 422) << failed.body;
  EXPECT_NE(failed.body.find("/nowhere"), std::string::npos);
  EXPECT_EQ(ask(service, "GET", "/v2/models/other/ready").status, 200);
  EXPECT_EQ(ask(service, "POST", "/v2/repository/models/nobody/load").status, 404);
}

}  // namespace
}  // namespace hone::serve
