#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

/// Labelled by what bert-words answers ("negative" to everything here), but for the last row.
constexpr const char* kSst2 =
    "sentence\tlabel\nthe film is great\t0\nthe movie was \"dull\t0\nis great\t0\nthe film\t1\n";

const Words kFields = {
    "task",   "split",     "samples",        "metrics", "loss", "seconds", "samples_per_second",
    "tokens", "truncated", "peak_rss_bytes", "device",  "dtype"};

TEST(Eval, ScoresATaskOfGluesLayout) {
  const Scratch scratch;
  scratch.write("SST-2/dev.tsv", kSst2);
  const Finished done = hone({"eval", "--model", golden("bert-words"), "--task_name", "SST-2",
                              "--data", scratch.path(), "--json"});
  ASSERT_EQ(done.code, 0) << done.err;
  ASSERT_EQ(done.objects().size(), 1u);
  const Json result = done.objects()[0];
  EXPECT_EQ(result.size(), kFields.size());
  for (const std::string& field : kFields) EXPECT_TRUE(result.contains(field)) << field;
  EXPECT_EQ(result.at("task"), "sst2");
  EXPECT_EQ(result.at("split"), "validation");
  EXPECT_EQ(result.at("samples"), 4);
  EXPECT_EQ(result.at("metrics"), Json({{"accuracy", 0.75}}));
  EXPECT_EQ(result.at("truncated"), 0);
  EXPECT_EQ(result.at("device"), "cpu");
  EXPECT_EQ(result.at("dtype"), "fp32");
  EXPECT_GT(result.at("peak_rss_bytes").get<int64_t>(), 1 << 20);
}

TEST(Eval, GivesTheMeanLossOfPredictsScores) {
  const Scratch scratch;
  const std::string file = scratch.write("own.csv", "label,text\nnegative,the film\npositive,is\n");
  const std::vector<Json> answers =
      hone({"predict", "--model", golden("bert-words")}, "the film\nis\n").objects();
  const double loss = -(std::log(answers[0].at("scores").at("negative").get<double>()) +
                        std::log(answers[1].at("scores").at("positive").get<double>())) /
                      2;
  const Json result = hone({"eval", "--model", golden("bert-words"), "--test_file", file, "--json"})
                          .objects()
                          .at(0);
  EXPECT_NEAR(result.at("loss").get<double>(), loss, 1e-5);
  EXPECT_EQ(result.at("split"), "test");
  EXPECT_EQ(result.at("metrics").at("accuracy"), 0.5);
}

TEST(Eval, DoesNotDependOnTheBatchSizeAndStopsWhereAsked) {
  const Scratch scratch;
  std::string rows = "label,text\n";
  for (int i = 0; i < 600; ++i) rows += i % 3 == 0 ? "1,the film\n" : "0,the movie was dull\n";
  const std::string file = scratch.write("own.csv", rows);
  const auto eval = [&](const Words& more) {
    Words words = {"eval", "--json", "--model", golden("bert-words"), "--validation_file", file};
    words.insert(words.end(), more.begin(), more.end());
    return hone(words).objects().at(0);
  };
  const Json expected = eval({});
  EXPECT_EQ(expected.at("samples"), 600);
  for (const char* size : {"1", "7", "1000"}) {
    const Json result = eval({"--per_device_eval_batch_size", size});
    EXPECT_EQ(result.at("loss"), expected.at("loss"));
    EXPECT_EQ(result.at("metrics"), expected.at("metrics"));
  }
  EXPECT_EQ(eval({"--max_eval_samples", "7"}).at("samples"), 7);
}

TEST(Eval, WritesNullForAMetricThatIsUndefined) {
  const Scratch scratch;
  const std::string file = scratch.write("own.csv", "label,text\n2,the film\n2,the movie\n");
  const Json result =
      hone({"eval", "--json", "--model", golden("roberta-regression"), "--test_file", file})
          .objects()
          .at(0);
  EXPECT_TRUE(result.at("metrics").at("pearson").is_null()) << result;
  EXPECT_GT(result.at("metrics").at("mse").get<double>(), 0);
}

TEST(Eval, RunsBothSetsOfMnliAndMatchesLabelsByName) {
  const Scratch scratch;
  const std::string model = scratch.copy("roberta-offset");  // its order is not MNLI's
  scratch.write("roberta-offset/tokenizer.json",
                R"({"pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordPiece",
                    "unk_token": "u", "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 100,
                    "vocab": {"u": 0, "the": 5, "film": 6, "is": 7, "great": 8}}})");
  const Json answer = hone({"predict", "--model", model, "--format", "jsonl"},
                           "{\"text\":\"the film\",\"text_pair\":\"is great\"}\n")
                          .objects()
                          .at(0);
  const std::string label = answer.at("label");
  const std::string other = label == "neutral" ? "entailment" : "neutral";
  const std::string row = "the film\tis great\t";
  const std::string matched = "sentence1\tsentence2\tgold_label\n" + row + label + "\n";
  scratch.write("MNLI/dev_matched.tsv", matched);
  scratch.write("MNLI/dev_mismatched.tsv", matched + row + other + "\n");
  const Finished done =
      hone({"eval", "--json", "--model", model, "--data", scratch.path(), "--task_name", "mnli"});
  const std::vector<Json> results = done.objects();
  ASSERT_EQ(results.size(), 2u) << done.err;
  EXPECT_EQ(results[0].at("split"), "validation_matched");
  EXPECT_EQ(results[0].at("metrics").at("accuracy"), 1);
  EXPECT_EQ(results[1].at("split"), "validation_mismatched");
  EXPECT_EQ(results[1].at("metrics").at("accuracy"), 0.5);
  const Finished one = hone({"eval", "--json", "--model", model, "--data", scratch.path(),
                             "--task_name", "mnli", "--split", "validation_mismatched"});
  EXPECT_EQ(one.objects().size(), 1u);
}

TEST(Eval, RefusesATaskThatDoesNotFitOrIsNotThere) {
  const Scratch scratch;
  scratch.write("MNLI/dev_matched.tsv", "sentence1\tsentence2\tgold_label\na\tb\tneutral\n");
  const auto eval = [&](const char* task, const char* split) {
    return hone({"eval", "--model", golden("bert-words"), "--data", scratch.path(), "--task_name",
                 task, "--split", split});
  };
  expect_refused(eval("mnli", "validation"), {"label", "bert-words/config.json"});
  expect_refused(eval("sst2", "validation"), {"SST-2/dev.tsv"});
  expect_refused(eval("mnli", "dev"), {"'dev'", "validation_matched"});
}

TEST(Eval, PrintsATable) {
  const Scratch scratch;
  const std::string file = scratch.write("own.csv", "label,text\nnegative,the film\n");
  const Finished done = hone({"eval", "--model", golden("bert-words"), "--test_file", file});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("accuracy"), std::string::npos) << done.out;
  EXPECT_NE(done.out.find("1.0000"), std::string::npos) << done.out;
}

TEST(Eval, RefusesWhatItCannotScore) {
  const Scratch scratch;
  const std::string model = golden("bert-words");
  const auto eval_file = [&](const std::string& name, const std::string& bytes) {
    return hone({"eval", "--model", model, "--test_file", scratch.write(name, bytes)});
  };
  expect_refused(eval_file("a.csv", "label,text\nsad,the film\n"), {"a.csv", "line 2", "'sad'"});
  expect_refused(eval_file("b.csv", "text\nthe film\n"), {"b.csv", "label"});
  expect_refused(eval_file("c.txt", "the film\n"), {"c.txt", "label"});
  expect_refused(eval_file("d.csv", "label,text\n"), {"d.csv", "no samples"});
  expect_refused(hone({"eval", "--model", model}), {"--task_name", "--test_file"});
  expect_refused(hone({"eval", "--model", model, "--task_name", "sst3", "--data", "x"}),
                 {"--task_name", "'sst3'", "sst2"});
  expect_refused(hone({"eval", "--model", model, "--task_name", "sst2"}), {"--data"});
  const std::string file = scratch.write("e.csv", "label,text\n0,the film is great\n");
  expect_refused(hone({"eval", "--model", model, "--test_file", file, "--no-truncate",
                       "--max_seq_length", "4"}),
                 {"e.csv: line 2", "6 tokens", "4"});
}

}  // namespace
}  // namespace hone::cli
