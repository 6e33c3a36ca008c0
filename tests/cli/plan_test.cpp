// What --no_plan changes: memory, and no answer.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "cli/program.h"
#include "device/cuda.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Six steps of the built-in model, and the losses and memory that it told of.
struct ShortRun {
  ShortRun(const std::string& output, const Words& more) {
    const Finished done = hone(
        with({"train", "--output_dir", output, "--max_train_samples", "48", "--max_eval_samples",
              "16", "--max_steps", "6", "--per_device_train_batch_size", "8", "--logging_steps",
              "1", "--save_strategy", "no", "--threads", "2", "--quiet", "--json"},
             more));
    EXPECT_EQ(done.code, 0) << done.err;
    const Json results = parse_json(read_file(output + "/all_results.json"), output);
    activations = results.at("memory_bytes").at("activations");
    evaluation = results.at("eval_loss");
    const std::string log = read_file(output + "/log.jsonl");
    for (size_t at = 0; at < log.size();) {
      const size_t end = log.find('\n', at);
      const Json entry = parse_json(log.substr(at, end - at), "log.jsonl");
      if (entry.contains("loss")) losses.push_back(entry.at("loss"));
      at = end + 1;
    }
    weights = read_file(output + "/model.safetensors");
  }

  std::vector<double> losses;
  double evaluation = 0;
  uint64_t activations = 0;
  std::string weights;
};

TEST(NoPlan, TrainsToTheSameBits) {
  const Scratch scratch;
  const ShortRun planned(scratch / "with", {"--device", "cpu"});
  const ShortRun unplanned(scratch / "without", {"--device", "cpu", "--no_plan"});
  ASSERT_EQ(planned.losses.size(), 6u);
  EXPECT_EQ(unplanned.losses, planned.losses);
  EXPECT_EQ(unplanned.weights, planned.weights);
  EXPECT_EQ(unplanned.evaluation, planned.evaluation);
  EXPECT_GT(unplanned.activations, 2 * planned.activations);
}

TEST(NoPlan, TrainsAlikeOnAGpu) {
  if (!cuda_info().missing.empty()) GTEST_SKIP() << "no GPU: " << cuda_info().missing;
  const Scratch scratch;
  const ShortRun planned(scratch / "with", {"--device", "cuda"});
  const ShortRun unplanned(scratch / "without", {"--device", "cuda", "--no_plan"});
  ASSERT_EQ(unplanned.losses.size(), planned.losses.size());
  for (size_t i = 0; i < planned.losses.size(); ++i) {
    EXPECT_NEAR(unplanned.losses[i], planned.losses[i], 1e-5) << i;
  }
  EXPECT_NEAR(unplanned.evaluation, planned.evaluation, 1e-5);
  EXPECT_GT(unplanned.activations, planned.activations);
}

TEST(NoPlan, ChangesNoAnswer) {
  const Scratch scratch;
  const std::string texts = "the film is great\na dull movie\nthe movie was not good\n";
  const std::string data =
      scratch.write("dev.csv", "text,label\nthe film is great,positive\na dull movie,negative\n");
  const std::string model = golden("bert-words");
  const std::vector<Words> commands = {{"predict", "--model", model, "--raw"},
                                       {"predict", "--model", model, "--dtype", "int8", "--raw"},
                                       {"embed", "--model", golden("sentence-bert-mean")}};
  for (const Words& words : commands) {
    SCOPED_TRACE(words[0]);
    const Finished planned = hone(words, texts);
    const Finished unplanned = hone(with(words, {"--no_plan"}), texts);
    ASSERT_EQ(planned.code, 0) << planned.err;
    EXPECT_EQ(unplanned.code, 0) << unplanned.err;
    EXPECT_EQ(unplanned.out, planned.out);
  }
  const Words eval = {"eval", "--model", model, "--test_file", data, "--json"};
  const Json planned = hone(eval).objects().at(0);
  const Json unplanned = hone(with(eval, {"--no-plan"})).objects().at(0);
  EXPECT_EQ(unplanned.at("metrics"), planned.at("metrics"));
  EXPECT_EQ(unplanned.at("loss"), planned.at("loss"));
}

/// A text as long as it gets, so that what its values take shows beside the program.
TEST(NoPlan, NeedsMoreMemoryToAnswer) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const Scratch scratch;
  const std::string config =
      scratch.write("config.json", R"({"model_type": "bert", "vocab_size": 80, "hidden_size": 64,
      "intermediate_size": 256, "num_attention_heads": 2, "num_hidden_layers": 24,
      "max_position_embeddings": 512})");
  const Finished made =
      hone({"train", "--config_name", config, "--tokenizer_name", golden("bert-words"),
            "--output_dir", scratch / "model", "--max_steps", "1", "--max_train_samples", "8",
            "--max_eval_samples", "1", "--save_strategy", "no", "--device", "cpu", "--quiet"});
  ASSERT_EQ(made.code, 0) << made.err;
  std::string text;
  for (int i = 0; i < 600; ++i) text += "film ";
  const std::string data = scratch.write("dev.csv", "text,label\n" + text + ",1\n");
  for (const Words& command :
       {Words{"predict"}, Words{"embed"}, Words{"eval", "--test_file", data}}) {
    SCOPED_TRACE(command[0]);
    const Words words = with(command, {"--model", scratch / "model", "--max_seq_length", "512",
                                       "--device", "cpu", "--threads", "1", "--quiet"});
    const Finished planned = hone(words, text + "\n");
    const Finished unplanned = hone(with(words, {"--no_plan"}), text + "\n");
    ASSERT_EQ(planned.code, 0) << planned.err;
    ASSERT_EQ(unplanned.code, 0) << unplanned.err;
    EXPECT_GT(unplanned.peak_kilobytes, planned.peak_kilobytes + 8 * 1024);
  }
}

}  // namespace
}  // namespace hone::cli
