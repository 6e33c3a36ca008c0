#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/file.h"
#include "cli/small_run.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

/// A limit on this process and what it starts, while it lives.
class Limit {
 public:
  Limit(__rlimit_resource what, uint64_t bytes) : what_(what) {
    ::getrlimit(what, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(what, &limit);
  }
  ~Limit() { ::setrlimit(what_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource what_;
  rlimit before_{};
};

TEST(Train, WritesWhatTrainerWrites) {
  const Scratch scratch;
  const Finished done =
      hone(small_run(scratch / "out", {"--do_train", "--do_eval", "True", "--do_predict",
                                       "--save-total-limit", "2", "--warmup_ratio=0.1"}));
  ASSERT_EQ(done.code, 0) << done.err;
  const Json result = done.objects().at(0);
  EXPECT_EQ(result.at("train_steps"), 20);
  EXPECT_TRUE(result.contains("eval_accuracy"));
  for (const char* name : {"model.safetensors", "config.json", "tokenizer.json", "all_results.json",
                           "trainer_state.json", "train_results.json", "eval_results.json",
                           "predict_results.jsonl", "log.jsonl"}) {
    EXPECT_TRUE(file_exists(scratch / "out/" + name)) << name;
  }
  EXPECT_TRUE(file_exists(scratch / "out/checkpoint-20/trainer_state.json"));
  EXPECT_TRUE(folder_exists(scratch / "out/checkpoint-19"));
  EXPECT_FALSE(folder_exists(scratch / "out/checkpoint-18"));
  const Finished eval = hone({"eval", "--model", scratch / "out", "--task_name", "reviews",
                              "--max_eval_samples", "20", "--json"});
  ASSERT_EQ(eval.code, 0) << eval.err;
  EXPECT_EQ(eval.objects().at(0).at("metrics").at("accuracy"), result.at("eval_accuracy"));
}

TEST(Train, WritesToAFolderThatIsNoUtf8) {
  const Scratch scratch;
  const Finished done = hone(small_run(scratch / "caf\xe9", {"--max_steps", "1"}));
  ASSERT_EQ(done.code, 0) << done.err;
  const std::string output = done.objects().at(0).at("output_dir");
  EXPECT_TRUE(output.ends_with("caf\xef\xbf\xbd")) << output;
  EXPECT_TRUE(file_exists(scratch / "caf\xe9/all_results.json"));
}

TEST(Train, ShowsWhereTheTimeWent) {
  const Scratch scratch;
  Words words = small_run(scratch / "out", {"--max_steps", "1"});
  ASSERT_EQ(std::erase(words, "--json"), 1u);
  const Finished done = hone(words);
  ASSERT_EQ(done.code, 0) << done.err;
  for (const char* stage : {"loading", "forward", "loss+backward", "evaluation", "wall"}) {
    EXPECT_NE(done.out.find(std::string("\n  ") + stage + " "), std::string::npos) << stage;
  }
}

TEST(Train, AdaptersAnswerAloneAndMerged) {
  const Scratch scratch;
  const Finished done =
      hone(small_run(scratch / "out", {"--model", golden("bert-words"), "--lora_rank", "3",
                                       "--max_steps", "3", "--learning_rate", "0.01"}));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_LT(done.objects().at(0).at("against_full_fine_tuning").at("memory_share"), 1);
  EXPECT_TRUE(file_exists(scratch / "out/adapter_model.safetensors"));
  ASSERT_EQ(hone({"convert", "--model", scratch / "out", "--output", scratch / "merged"}).code, 0);
  const auto answer = [&](const std::string& model) {
    return hone({"predict", "--model", model, "--raw"}, "the film is great\n").out;
  };
  EXPECT_EQ(answer(scratch / "out"), answer(scratch / "merged"));
  EXPECT_NE(answer(scratch / "out"), answer(golden("bert-words")));
}

TEST(Train, ExitsAreCalibratedOnData) {
  const Scratch scratch;
  const std::string out = scratch / "out";
  ASSERT_EQ(
      hone(small_run(out, {"--early_exit", "deebert", "--max_steps", "3", "--save_strategy", "no"}))
          .code,
      0);
  expect_refused(hone({"convert", "--exits", "--model", out}), {"--exits", "--task_name"});
  expect_refused(hone({"convert", "--exits", "--model", golden("bert-words"), "--validation_file",
                       scratch.write("x.csv", "text,label\na film,positive\n")}),
                 {"no early exits"});
  const Finished done = hone({"convert", "--exits", "--model", out, "--task_name", "reviews",
                              "--max_eval_samples", "40", "--target-drop", "50", "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.objects().at(0).at("points").size(), 13u);
  for (const char* name : {"exit_curve.json", "exit_curve.csv", "exit_curve.svg"}) {
    EXPECT_TRUE(file_exists(out + "/" + name)) << name;
  }
  const std::string chosen = done.objects().at(0).at("chosen");
  const Json config = Json::parse(read_file(out + "/config.json"));
  EXPECT_NE(
      chosen.find(std::to_string(config.at("early_exit").at("entropy").get<double>()).substr(0, 3)),
      std::string::npos)
      << chosen;
  const Finished answered = hone({"predict", "--model", out, "--entropy", "100"}, "a great film\n");
  EXPECT_EQ(answered.objects().at(0).at("layers"), 1);
  expect_refused(hone({"predict", "--model", golden("bert-words"), "--deadline-ms", "5"}),
                 {"no early exits"});
}

TEST(Train, AdaptiveExitsComeNearToATarget) {
  const Scratch scratch;
  const std::string out = scratch / "out";
  const Words adaptive = {"--early_exit",    "adaptive", "--max_steps",        "30",
                          "--save_strategy", "no",       "--exit_cost_weight", "0.01",
                          "--device",        "cpu"};
  ASSERT_EQ(hone(small_run(out, adaptive)).code, 0);
  const Words convert = {
      "convert", "--exits", "--model", out, "--task_name", "reviews", "--max_eval_samples",
      "40",      "--json"};
  const auto with = [&](const char* flag, const char* value) {
    Words words = convert;
    words.insert(words.end(), {flag, value});
    return hone(words);
  };
  expect_refused(with("--target-ms", "0.000001"), {"--target-ms", "the least is"});
  const Finished done = with("--target-layers", "1.5");
  ASSERT_EQ(done.code, 0) << done.err;
  const Json curve = done.objects().at(0);
  EXPECT_EQ(curve.at("points").size(), 13u);
  for (const Json& point : curve.at("points")) {
    if (point.at("setting") != curve.at("chosen")) continue;
    EXPECT_LE(point.at("mean_layers").get<double>(), 1.05 * 1.5);
  }
  const Finished answered =
      hone({"predict", "--model", out, "--confidence", "0"}, "a great film\n");
  EXPECT_EQ(answered.objects().at(0).at("layers"), 1);
}

TEST(Train, SeedsGiveAMeanAndASpread) {
  const Scratch scratch;
  const Finished done = hone(small_run(
      scratch / "out", {"--seeds", "1,2,3", "--max_steps", "3", "--save_strategy", "no"}));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_TRUE(file_exists(scratch / "out/tokens/train.tokens"));
  const Json all = done.objects().at(3);
  const Json& accuracy = all.at("eval_accuracy");
  double sum = 0;
  for (const Json& value : accuracy.at("values")) sum += value.get<double>();
  EXPECT_NEAR(accuracy.at("mean").get<double>(), sum / 3, 1e-12);
  EXPECT_EQ(all.at("seeds"), Json({1, 2, 3}));
  for (const char* seed : {"1", "2", "3"}) {
    EXPECT_TRUE(file_exists(scratch / "out/seed-" + seed + "/model.safetensors"));
    EXPECT_FALSE(folder_exists(scratch / "out/seed-" + seed + "/tokens"));
  }
}

TEST(Train, SaysWhatMemoryItWouldTakeBeforeItLoadsData) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const Scratch scratch;
  const Limit limit(RLIMIT_AS, uint64_t{400} << 20);
  const Words large = {"--config_name",
                       scratch.write("config.json",
                                     R"({"model_type":"bert","hidden_size":768,
                                         "num_hidden_layers":12,"num_attention_heads":12,
                                         "intermediate_size":3072,"vocab_size":30522})"),
                       "--tokenizer_name", golden("bert-words")};
  const Finished done = hone(small_run(scratch / "out", large));
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_NE(done.err.find("not enough memory"), std::string::npos) << done.err;
  EXPECT_FALSE(file_exists(scratch / "out/tokens/train.tokens"));
}

TEST(Train, WritesCheckpointsBetweenStepsWhereACopyDoesNotFit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const Scratch scratch;
  const Words large = {"--max_steps",
                       "2",
                       "--config_name",
                       scratch.write("config.json",
                                     R"({"model_type":"bert","hidden_size":256,
                                         "num_hidden_layers":2,"num_attention_heads":4,
                                         "intermediate_size":512,"vocab_size":30522})"),
                       "--tokenizer_name",
                       golden("bert-words")};
  const auto copied_bytes = [&](const std::string& output) {
    const Finished done = hone(small_run(output, large));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.objects().at(0).at("memory_bytes").at("checkpoint_copy").get<int64_t>();
  };
  EXPECT_GT(copied_bytes(scratch / "copied"), 100'000'000);
  const Limit limit(RLIMIT_AS, uint64_t{340} << 20);
  EXPECT_EQ(copied_bytes(scratch / "tight"), 0);
  for (const char* name : {"model.safetensors", "optimizer_exp_avg.safetensors"}) {
    const auto bytes = [&](const std::string& run) {
      return read_file(scratch / (run + "/checkpoint-1/" + name));
    };
    EXPECT_TRUE(bytes("copied") == bytes("tight")) << name;
  }
}

TEST(Train, FindsABatchSizeThatFits) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const Scratch scratch;
  const Limit limit(RLIMIT_AS, uint64_t{420} << 20);
  const Words large = {"--per_device_train_batch_size",
                       "4096",
                       "--max_train_samples",
                       "4096",
                       "--max_steps",
                       "1",
                       "--save_strategy",
                       "no"};
  Finished done = hone(small_run(scratch / "out", large));
  EXPECT_EQ(done.code, 1) << done.err;
  EXPECT_NE(done.err.find("--auto_find_batch_size"), std::string::npos) << done.err;
  Words found = large;
  found.push_back("--auto_find_batch_size");
  done = hone(small_run(scratch / "found", found));
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.objects().at(0).at("train_samples"), 4096);
}

TEST(Train, FindsATokenBudgetThatFits) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  const Scratch scratch;
  const Limit limit(RLIMIT_AS, uint64_t{420} << 20);
  Words words = {"train",       "--max_tokens_per_batch",
                 "60000",       "--max_train_samples",
                 "4096",        "--max_steps",
                 "1",           "--save_strategy",
                 "no",          "--max_eval_samples",
                 "20",          "--threads",
                 "2",           "--json",
                 "--output_dir"};
  words.push_back(scratch / "out");
  const Finished refused = hone(words);
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_NE(refused.err.find("2 x 29234 tokens would fit: give --max_tokens_per_batch"),
            std::string::npos)
      << refused.err;
  words.back() = scratch / "found";
  words.push_back("--auto_find_batch_size");
  const Finished found = hone(words);
  ASSERT_EQ(found.code, 0) << found.err;
  EXPECT_NE(found.err.find("a step is now 2 x "), std::string::npos) << found.err;
  EXPECT_GT(found.objects().at(0).at("train_tokens"), 30000);
}

TEST(Train, RefusesMistakesInOneLine) {
  const Scratch scratch;
  const std::string out = scratch / "out";
  const auto refuse = [&](const Words& more, const Words& parts) {
    Words words = {"train", "--output_dir", out};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(hone(words), parts);
  };
  refuse({"--max_steps", "0"}, {"--max_steps", "0"});
  refuse({"--learning_rate", "fast"}, {"--learning_rate", "fast"});
  refuse({"--eval_strategy", "often"}, {"--eval_strategy", "often"});
  refuse({"--seeds", "1,x"}, {"--seeds", "x"});
  refuse({"--seeds", "3,1,3"}, {"--seeds", "'3' twice"});
  refuse({"--seed"}, {"--seed: a value is missing"});
  refuse({"--task_name", "sst3"}, {"--task_name", "sst3"});
  refuse({"--task_name", "sst2", "--data", "/nowhere"}, {"/nowhere"});
  refuse({"--train_file", "/nowhere.csv"}, {"/nowhere.csv"});
  refuse({"--model", "/nowhere"}, {"/nowhere"});
  refuse({"--resume_from_checkpoint", "/nowhere"}, {"--resume_from_checkpoint", "/nowhere"});
  refuse({"--no_cuda"}, {"--no_cuda", "--device cpu"});
  refuse({"--class_weights", "1,-1"}, {"--class_weights", "-1"});
  refuse({"--freeze", "bert.nothing.*"}, {"bert.nothing.*"});
  refuse({"--optim", "lion"}, {"--optim", "lion"});
  refuse({"--config_name", golden("bert-words")}, {"--tokenizer_name"});
}

}  // namespace
}  // namespace hone::cli
