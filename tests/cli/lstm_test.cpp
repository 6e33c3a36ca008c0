// The LSTM through the program: a vocabulary from the training text, runs, checkpoints, answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "cli/program.h"
#include "device/cuda.h"

namespace hone::cli {
namespace {

constexpr const char* kGoodWords[] = {"wonderful", "great", "loved", "superb"};
constexpr const char* kBadWords[] = {"awful", "boring", "hated", "dull"};

/// Reviews of which one word, at any place, tells the label.
std::string review_rows(int count, int first) {
  std::string rows = "text,label\n";
  for (int i = first; i < first + count; ++i) {
    const bool good = i % 2 == 0;
    std::string text;
    for (int k = 0; k < 3 + i % 9; ++k)
      text += "the plot number" + std::string(1, 'a' + (i + k) % 20) + " ";
    text += (good ? kGoodWords : kBadWords)[(i / 2) % 4];
    for (int k = 0; k < i % 4; ++k) text += " and then";
    rows += text + "," + (good ? "positive" : "negative") + "\n";
  }
  return rows;
}

class LstmProgram : public testing::Test {
 protected:
  LstmProgram() {
    scratch_.write("train.csv", review_rows(240, 0));
    scratch_.write("dev.csv", review_rows(60, 1000));
  }

  Words training(const std::string& output, const Words& more = {}) const {
    Words words = {"train",
                   "--model_type",
                   "lstm",
                   "--train_file",
                   scratch_ / "train.csv",
                   "--validation_file",
                   scratch_ / "dev.csv",
                   "--output_dir",
                   scratch_ / output,
                   "--num_train_epochs",
                   "8",
                   "--per_device_train_batch_size",
                   "16",
                   "--learning_rate",
                   "0.01",
                   "--save_strategy",
                   "steps",
                   "--save_steps",
                   "50",
                   "--threads",
                   "2",
                   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  void expect_run(const Words& words) const {
    const Finished done = hone(words);
    ASSERT_EQ(done.code, 0) << done.err;
  }

  std::string bytes_of(const std::string& file) const { return read_file(scratch_ / file); }
  Json results(const std::string& run) const {
    return parse_json(bytes_of(run + "/all_results.json"), "all_results.json");
  }
  Json score(const std::string& run, const Words& more = {}) const {
    Words words = {"eval",  "--model", scratch_ / run, "--test_file", scratch_ / "dev.csv",
                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished done = hone(words);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.objects().front().at("metrics");
  }

  void goes_through_all(const std::string& device) const {
    const Words on = {"--device", device};
    expect_run(training("straight", on));
    EXPECT_GT(results("straight").at("eval_accuracy").get<double>(), 0.95);
    EXPECT_GT(results("straight").at("eval_f1").get<double>(), 0.95);
    EXPECT_EQ(score("straight", on).at("accuracy"), results("straight").at("eval_accuracy"));

    std::filesystem::copy(scratch_ / "straight", scratch_ / "resumed",
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove_all(scratch_ / "resumed/checkpoint-100");
    std::filesystem::remove_all(scratch_ / "resumed/checkpoint-120");
    ASSERT_TRUE(file_exists(scratch_ / "resumed/checkpoint-50/config.json"));
    expect_run(training("resumed", {"--device", device, "--resume_from_checkpoint", "last"}));
    EXPECT_EQ(bytes_of("resumed/model.safetensors"), bytes_of("straight/model.safetensors"));
  }

  Scratch scratch_;
};

TEST_F(LstmProgram, LearnsFromNothingAndGoesOnBitForBit) {
  goes_through_all("cpu");
  const std::string vocabulary = bytes_of("straight/vocabulary.txt");
  EXPECT_TRUE(vocabulary.starts_with("plot\n")) << vocabulary;
  EXPECT_EQ(vocabulary.find("then"), std::string::npos);
  EXPECT_NE(vocabulary.find("superb\n"), std::string::npos);
  const Json config = parse_json(bytes_of("straight/config.json"), "config.json");
  EXPECT_EQ(config.at("vocab_size"), 2 + std::count(vocabulary.begin(), vocabulary.end(), '\n'));
  EXPECT_EQ(config.at("last"), "text");

  expect_run(training("steps", {"--no_plan"}));
  EXPECT_EQ(bytes_of("steps/model.safetensors"), bytes_of("straight/model.safetensors"));
}

TEST_F(LstmProgram, LearnsFromNothingOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  goes_through_all("cuda");
}

TEST_F(LstmProgram, LearnsOfPaddedRowsAndInLowPrecision) {
  for (const Words& more : {Words{"--bf16"}, Words{"--fp16"},
                            Words{"--config_overrides", "last=padded_row,max_length=24"}}) {
    const std::string run = more.front().substr(2);
    expect_run(training(run, more));
    // Little is left of a word behind many steps of padding that early in training.
    const double least = run == "config_overrides" ? 0.45 : 0.9;
    EXPECT_GT(results(run).at("eval_accuracy").get<double>(), least) << run;
  }
  const Json config = parse_json(bytes_of("config_overrides/config.json"), "config.json");
  EXPECT_EQ(config.at("max_length"), 24);
  const Finished answer =
      hone({"predict", "--model", scratch_ / "config_overrides"}, "a dull plot\n");
  EXPECT_EQ(answer.objects().front().at("tokens"), 24);
}

TEST_F(LstmProgram, AnswersAloneAsInAFileAndInWhatIsMadeOfIt) {
  expect_run(training("run"));
  const std::string run = scratch_ / "run";
  const std::string texts =
      "the plot numberb the plot numberc wonderful\n\ndull, dull and boring "
      "numbera\n1234\nsuperb\n";
  const Finished all = hone({"predict", "--model", run, "--raw"}, texts);
  ASSERT_EQ(all.code, 0) << all.err;
  const std::vector<Json> answers = all.objects();
  ASSERT_EQ(answers.size(), 5u);
  EXPECT_EQ(answers[0].at("label"), "positive");
  EXPECT_EQ(answers[2].at("label"), "negative");
  EXPECT_EQ(answers[1], answers[3]) << "texts without words are one padding word";
  const Finished alone =
      hone({"predict", "--model", run, "--raw"}, "the plot numberb the plot numberc wonderful\n");
  EXPECT_EQ(alone.objects().front(), answers[0]);
  const Finished budget =
      hone({"predict", "--model", run, "--raw", "--memory-budget", "200MB"}, texts);
  EXPECT_EQ(budget.code, 0) << budget.err;
  EXPECT_EQ(budget.objects(), answers);

  const std::string small = scratch_ / "bf16";
  ASSERT_EQ(hone({"convert", "--model", run, "--output", small, "--dtype", "bf16"}).code, 0);
  EXPECT_EQ(score("bf16").at("accuracy"), score("run").at("accuracy"));
  EXPECT_GT(score("run", {"--dtype", "bf16"}).at("accuracy").get<double>(), 0.95);
  const Finished embedded = hone({"embed", "--model", run, "--pooling", "mean"}, "a plot\n");
  ASSERT_EQ(embedded.code, 0) << embedded.err;
  EXPECT_EQ(embedded.objects().front().at("embedding").size(), 32u);
}

TEST_F(LstmProgram, SaysWhatItDoesNotHave) {
  expect_run(training("run", {"--max_steps", "2"}));
  const std::string run = scratch_ / "run";
  expect_refused(hone({"predict", "--model", run, "--dtype", "int8"}, "a\n"), {"int8"});
  expect_refused(hone({"convert", "--model", run, "--output", scratch_ / "out", "--dtype", "int8"}),
                 {"int8"});
  expect_refused(hone({"train", "--model", run, "--train_file", scratch_ / "train.csv",
                       "--lora_rank", "4", "--output_dir", scratch_ / "o"}),
                 {"lora"});
  expect_refused(hone(training("o", {"--gradient_checkpointing"})), {"--gradient_checkpointing"});
  expect_refused(hone(training("o", {"--config_overrides", "hidden_size=0"})),
                 {"new lstm", "hidden_size", "0"});
  expect_refused(hone(training("o", {"--config_overrides", "hidden_size"})),
                 {"--config_overrides", "NAME=VALUE"});
  expect_refused(hone({"train", "--model_type", "bert", "--output_dir", scratch_ / "o"}),
                 {"--model_type", "--config_name", "--tokenizer_name"});
  expect_refused(hone({"train", "--model_type", "gru", "--output_dir", scratch_ / "o"}),
                 {"gru", "lstm"});
  expect_refused(hone(training("o", {"--pos_weights", "1,2"})), {"--pos_weights", "2"});
  scratch_.write("run/vocabulary.txt", "plot\nplot\n");
  expect_refused(hone({"predict", "--model", run}, "a\n"), {"vocabulary.txt", "line 2", "plot"});
}

TEST_F(LstmProgram, IsDescribedAndCutsTexts) {
  expect_run(training("run", {"--max_steps", "2"}));
  const Finished info = hone({"info", "--model", scratch_ / "run", "--json"});
  ASSERT_EQ(info.code, 0) << info.err;
  EXPECT_NE(info.out.find("lstm"), std::string::npos);
  const Finished tokens = hone({"tokenize", "--model", scratch_ / "run"}, "The PLOT, superb!\n");
  ASSERT_EQ(tokens.code, 0) << tokens.err;
  EXPECT_EQ(tokens.objects().front().at("tokens"), Json(Words{"plot", "superb"}));
  EXPECT_EQ(tokens.objects().front().at("offsets"), Json::parse("[[4,8],[10,16]]"));
}

}  // namespace
}  // namespace hone::cli
