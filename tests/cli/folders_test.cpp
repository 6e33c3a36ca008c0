// info, convert and bench.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/version.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

TEST(Info, TellsOfBuildMachineAndKernels) {
  const Finished done = hone({"info", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json info = done.objects().at(0);
  EXPECT_EQ(info.at("version"), kVersion);
  EXPECT_EQ(info.at("build").at("backends").at(0), "cpu");
  EXPECT_GE(info.at("devices")[0].at("usable_cores").get<int>(), 1);
  EXPECT_FALSE(info.at("devices")[0].at("isas").empty());
  ASSERT_EQ(info.at("kernels").size(), 3u);
  for (const Json& choice : info.at("kernels")) EXPECT_NE(choice.at("reason"), "");
  EXPECT_FALSE(info.contains("model"));
  const std::string text = hone({"info"}).out;
  EXPECT_NE(text.find("kernel fp32"), std::string::npos) << text;
}

TEST(Info, TellsOfAModel) {
  const Json info = hone({"info", "--json", "--model", golden("bert-words")}).objects().at(0);
  const Json& model = info.at("model");
  EXPECT_EQ(model.at("family"), "bert");
  EXPECT_EQ(model.at("labels"), Json({"negative", "positive"}));
  EXPECT_EQ(model.at("problem_type"), "single_label_classification");
  EXPECT_EQ(model.at("tokenizer"), "WordPiece");
  EXPECT_EQ(model.at("vocabulary"), 66);
  EXPECT_EQ(model.at("max_length"), 24);
  const auto parameters = model.at("parameters").get<uint64_t>();
  EXPECT_EQ(model.at("bytes_by_dtype").at("fp32"), 4 * parameters);
  EXPECT_GE(model.at("packed_bytes").get<uint64_t>(), 4 * parameters);
  EXPECT_GT(model.at("forward_bytes"), model.at("packed_bytes"));
  EXPECT_EQ(model.at("batch"), 8);
  EXPECT_GT(model.at("train_bytes").get<uint64_t>(), 16 * parameters);
  const Json half =
      hone({"info", "--json", "--dtype", "bf16", "--model", golden("bert-words")}).objects().at(0);
  EXPECT_LT(half.at("model").at("packed_bytes"), model.at("packed_bytes"));
  for (const char* name : {"roberta-regression", "albert-groups", "sentence-distilbert-cls"}) {
    const Finished text = hone({"info", "--model", golden(name)});
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_NE(text.out.find("training step  "), std::string::npos) << text.out;
  }
}

TEST(Info, PredictsWhatTrainingAllocates) {
  const Scratch scratch;
  std::string rows = "text,label\n";
  for (int i = 0; i < 16; ++i) {
    for (int k = 0; k < 30; ++k) rows += "film ";
    rows += i % 2 == 0 ? ",negative\n" : ",positive\n";
  }
  write_file(scratch / "rows.csv", rows);
  for (const char* name : {"bert-words", "albert-groups"}) {
    for (const Words& precision : {Words{}, Words{"--bf16"}}) {
      Words train = {"train",
                     "--model",
                     golden(name),
                     "--train_file",
                     scratch / "rows.csv",
                     "--output_dir",
                     scratch / "run",
                     "--max_steps",
                     "2",
                     "--per_device_train_batch_size",
                     "8",
                     "--do_train",
                     "--quiet",
                     "--overwrite_output_dir"};
      train.insert(train.end(), precision.begin(), precision.end());
      const Finished done = hone(train);
      ASSERT_EQ(done.code, 0) << done.err;
      const std::string results = scratch / "run/all_results.json";
      const Json memory = parse_json(read_file(results), results).at("memory_bytes");
      double measured = 0;
      for (const char* kind : {"weights", "gradients", "optimizer", "activations"}) {
        measured += memory.at(kind).get<double>();
      }
      const Finished info = hone({"info", "--model", golden(name), "--batch", "8", "--length", "24",
                                  "--dtype", precision.empty() ? "fp32" : "bf16", "--json"});
      const double predicted = info.objects().at(0).at("model").at("train_bytes").get<double>();
      EXPECT_NEAR(predicted, measured, 0.05 * measured) << name;
    }
  }
}

TEST(Convert, WritesAFolderThatGivesTheSameAnswers) {
  const Scratch scratch;
  for (const char* name : {"bert-words", "sentence-bert-mean", "roberta-regression"}) {
    const std::string to = scratch / name;
    const Finished done =
        hone({"convert", "--model", golden(name), "--output", to, "--dtype", "fp32"});
    ASSERT_EQ(done.code, 0) << done.err;
    const char* command = std::string(name).starts_with("sentence") ? "embed" : "predict";
    EXPECT_EQ(hone({command, "--model", to}, "the film\n").out,
              hone({command, "--model", golden(name)}, "the film\n").out);
  }
}

TEST(Convert, TakesWhatBelongsToAModelAlone) {
  namespace fs = std::filesystem;
  const Scratch scratch;
  const std::string from = scratch.copy("sentence-bert-mean");
  const auto add = [&](const std::string& name) {
    fs::create_directories(fs::path(from + "/" + name).parent_path());
    write_file(from + "/" + name, "{}");
  };
  const auto files_of = [](const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), folder).string());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  fs::remove(from + "/goldens.json");
  for (const char* name : {"README.md", "generation_config.json", "merges.txt"}) add(name);
  const std::vector<std::string> wanted = files_of(from);
  for (const char* name :
       {".lock", "log.jsonl", "trainer_state.json", "checkpoint.json", "all_results.json",
        "train_results.json", "eval_results.json", "predict_results_test.txt", "exit_curve.json",
        "optimizer.safetensors", "model.safetensors.partial", "runs/events.out.tfevents",
        "tokens/train.tokens", "checkpoint-2/config.json", "stage-1/config.json"}) {
    add(name);
  }
  const Finished done = hone({"convert", "--model", from, "--output", scratch / "to"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(files_of(scratch / "to"), wanted);
}

TEST(Convert, WritesHalvesAndShards) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  for (const char* dtype : {"fp16", "bf16"}) {
    const std::string to = scratch / dtype;
    const Finished done = hone({"convert", "--json", "--model", model, "--output", to, "--dtype",
                                dtype, "--max-shard-size", "5KB"});
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_EQ(done.objects().at(0).at("dtype"), dtype);
    EXPECT_TRUE(file_exists(to + "/model.safetensors.index.json"));
    const Json info = hone({"info", "--json", "--model", to}).objects().at(0).at("model");
    EXPECT_TRUE(info.at("bytes_by_dtype").contains(dtype)) << info;
    const Json answer =
        hone({"predict", "--raw", "--model", to}, "the film is great\n").objects().at(0);
    EXPECT_NEAR(answer.at("logits")[0].get<double>(), 2.053509, 0.05);
  }
}

TEST(Convert, RefusesWhatItCannotDo) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  const auto convert = [&](const Words& more) {
    Words words = {"convert", "--model", model};
    words.insert(words.end(), more.begin(), more.end());
    return hone(words);
  };
  expect_refused(convert({}), {"--output"});
  expect_refused(convert({"--output", scratch / "a", "--max-shard-size", "5 apples"}),
                 {"--max-shard-size", "'5 apples'"});
  expect_refused(convert({"--output", scratch / "a", "--format", "gguf"}), {"--format", "'gguf'"});
  scratch.write("full/file", "x");
  expect_refused(convert({"--output", scratch / "full"}), {scratch / "full"});
  EXPECT_EQ(scratch.entries(), Words{"full"});
}

TEST(Bench, ListsItsCasesAndRefusesOthers) {
  const std::string cases = hone({"bench", "list"}).out;
  EXPECT_NE(cases.find("bert-base-b1-len128\n"), std::string::npos) << cases;
  expect_refused(hone({"bench", "nothing"}), {"'nothing'"});
}

}  // namespace
}  // namespace hone::cli
