#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

constexpr const char* kSentences = "the film is great\nthe movie was dull\nis great\nthe film\n";
constexpr const char* kDevSplit =
    "sentence\tlabel\nthe film is great\t0\nthe movie was dull\t0\nis great\t0\nthe film\t1\n";

/// Scores as a model gives them in fp32, so that any other answer lowers the correlation.
std::string scored_file(const Scratch& scratch, const std::string& model) {
  std::string rows = "text,label\n";
  for (int i = 0; i < 40; ++i) {
    const std::string text = "a" + std::string(static_cast<size_t>(i), 'b') + " film";
    const Json answer = hone({"predict", "--raw", "--model", model}, text + "\n").objects().at(0);
    rows += text + "," + answer.at("logits")[0].dump() + "\n";
  }
  return scratch.write("scored.csv", rows);
}

Words convert_words(const std::string& model, const std::string& to, const Words& more) {
  Words words = {"convert", "--json", "--model", model, "--output_dir", to, "--dtype", "int8"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

uint64_t file_bytes(const std::string& path) { return std::filesystem::file_size(path); }

TEST(Int8, AFolderOfBytesAnswersAsTheModelItCameFrom) {
  const Scratch scratch;
  scratch.write("SST-2/dev.tsv", kDevSplit);
  for (const char* name : {"bert-words", "albert-groups", "roberta-regression"}) {
    const std::string model = golden(name);
    const std::string to = scratch / name;
    const std::string own = scratch.write("own.csv", "text,label\nthe film,0\nis great,1\n");
    const Finished done = hone(convert_words(
        model, to, {"--validation_file", own, "--max-drop", "100", "--max-shard-size", "50KB"}));
    ASSERT_EQ(done.code, 0) << name << ": " << done.err;
    const Json result = done.objects().at(0);
    EXPECT_EQ(result.at("dtype"), "int8");
    EXPECT_EQ(result.at("samples"), 2);
    EXPECT_EQ(result.at("kept"), Json::array());
    const Words raw = {"predict", "--raw", "--model"};
    const auto answers = [&](Words words) {
      words.insert(words.begin(), raw.begin(), raw.end());
      return hone(words, kSentences).out;
    };
    const std::string quantized = answers({to});
    EXPECT_NE(quantized, "");
    EXPECT_EQ(quantized, answers({to, "--dtype", "int8"}));
    EXPECT_EQ(quantized, answers({model, "--dtype", "int8"})) << name;
    EXPECT_NE(quantized, answers({model}));
    const Json info = hone({"info", "--json", "--model", to}).objects().at(0).at("model");
    EXPECT_EQ(info.at("dtype"), "int8");
    EXPECT_TRUE(info.at("bytes_by_dtype").contains("int8")) << info;

    const std::string back = scratch / (std::string(name) + "-back");
    ASSERT_EQ(hone({"convert", "--model", to, "--output", back, "--dtype", "fp32"}).code, 0);
    EXPECT_EQ(answers({back}), answers({to, "--dtype", "fp32"})) << name;
    EXPECT_EQ(answers({back, "--dtype", "int8"}), quantized) << name;
  }
}

TEST(Int8, ConvertTellsTheAccuracyBeforeAndAfter) {
  const Scratch scratch;
  scratch.write("SST-2/dev.tsv", kDevSplit);
  const Finished done = hone({"convert", "--model", golden("bert-words"), "--output", scratch / "a",
                              "--dtype", "int8", "--task_name", "sst2", "--data", scratch.path()});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("accuracy over 4 samples: 0.7500 in fp32, 0.7500 in int8"),
            std::string::npos)
      << done.out;
  const Json config = parse_json(read_file(scratch / "a/config.json"), "config.json");
  const Json& entry = config.at("quantization_config");
  EXPECT_EQ(entry.at("quant_method"), "hone-int8");
  EXPECT_EQ(entry.at("before"), 0.75);
  const Json result = hone({"eval", "--json", "--model", scratch / "a", "--task_name", "sst2",
                            "--data", scratch.path()})
                          .objects()
                          .at(0);
  EXPECT_EQ(result.at("dtype"), "int8");
  EXPECT_EQ(result.at("metrics").at("accuracy"), entry.at("after"));
}

TEST(Int8, ADropBeyondTheLimitIsRefusedAndNothingWritten) {
  const Scratch scratch;
  const std::string model = golden("roberta-regression");
  const std::string file = scored_file(scratch, model);
  const Finished refused =
      hone(convert_words(model, scratch / "a", {"--validation_file", file, "--max-drop", "0"}));
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("--max-drop"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--mixed"), std::string::npos) << refused.err;
  EXPECT_EQ(scratch.entries(), Words{"scored.csv"});
}

TEST(Int8, MixedKeepsThePartsThatCostMost) {
  const Scratch scratch;
  const std::string model = golden("roberta-regression");
  const std::string file = scored_file(scratch, model);
  const Json all =
      hone(convert_words(model, scratch / "all", {"--validation_file", file, "--max-drop", "100"}))
          .objects()
          .at(0);
  const double drop = all.at("drop").get<double>();
  ASSERT_GT(drop, 0);
  const std::string limit = std::to_string(drop * 0.6);
  const Finished done = hone(convert_words(
      model, scratch / "mixed", {"--validation_file", file, "--max-drop", limit, "--mixed"}));
  ASSERT_EQ(done.code, 0) << done.err;
  const Json mixed = done.objects().at(0);
  EXPECT_LE(mixed.at("drop").get<double>(), drop * 0.6 + 1e-6);
  EXPECT_GE(mixed.at("kept").size(), 1u);
  const Json& costs = mixed.at("costs");
  EXPECT_TRUE(costs.contains("embeddings") && costs.contains("layer.0")) << costs;
  for (const auto& [part, cost] : costs.items()) {
    EXPECT_LE(cost, costs.at(mixed.at("kept")[0].get<std::string>())) << part;
  }
  EXPECT_GT(file_bytes(scratch / "mixed/model.safetensors"),
            file_bytes(scratch / "all/model.safetensors"));
  const Json measured =
      hone({"eval", "--json", "--model", scratch / "mixed", "--validation_file", file})
          .objects()
          .at(0);
  EXPECT_DOUBLE_EQ(measured.at("metrics").at(mixed.at("metric").get<std::string>()).get<double>(),
                   mixed.at("after").get<double>());
}

TEST(Int8, BadRequestsAreRefused) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  const auto convert = [&](const Words& more) {
    return hone(convert_words(model, scratch / "a", more));
  };
  expect_refused(convert({}), {"--dtype", "--task_name", "--validation_file"});
  expect_refused(convert({"--task_name", "sst2"}), {"--data", "sst2"});
  expect_refused(convert({"--validation_file", scratch / "none.csv"}), {scratch / "none.csv"});
  const std::string other = scratch.write("other.csv", "text,label\nwho is it,HUM\nwhere,LOC\n");
  expect_refused(convert({"--validation_file", other}), {"'HUM'"});
  expect_refused(convert({"--validation_file", other, "--max-drop", "much"}),
                 {"--max-drop", "'much'"});
  expect_refused(hone({"convert", "--model", golden("sentence-bert-mean"), "--output",
                       scratch / "a", "--dtype", "int8", "--validation_file", other}),
                 {"head"});
  EXPECT_EQ(scratch.entries(), Words{"other.csv"});
}

TEST(Int8, BadFoldersAreRefused) {
  const Scratch scratch;
  const std::string own = scratch.write("own.csv", "text,label\nthe film,0\nis great,1\n");
  const std::string good = scratch / "good";
  ASSERT_EQ(hone(convert_words(golden("bert-words"), good,
                               {"--validation_file", own, "--max-drop", "100"}))
                .code,
            0);
  const auto predict = [&] { return hone({"predict", "--model", good}, "the film\n"); };
  const std::string config = read_file(good + "/config.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    text.replace(text.find(from), from.size(), to);
    scratch.write("good/config.json", text);
  };
  with("hone-int8", "bitsandbytes");
  expect_refused(predict(), {"quant_method", "bitsandbytes"});
  with("\"kept\": []", "\"kept\": [\"layer.99\"]");
  expect_refused(predict(), {"kept"});
  scratch.write("good/config.json", config);

  std::string weights = read_file(good + "/model.safetensors");
  const std::string name = "query.weight_scale";
  weights[weights.find(name) + name.size() - 1] = 'x';
  scratch.write("good/model.safetensors", weights);
  expect_refused(predict(), {"model.safetensors", "query.weight_scale is missing"});
}

}  // namespace
}  // namespace hone::cli
