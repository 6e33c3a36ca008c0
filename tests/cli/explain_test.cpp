// hone explain, as a user runs it.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

const std::string kExplained = "the film is great\nthe movie was not good , it was dull\n\n";

Finished explain_ig(const Words& more, std::string_view input = kExplained,
                    const std::string& model = "bert-words") {
  Words words = {"explain", "--model", golden(model), "--method", "ig", "--threads", "2"};
  words.insert(words.end(), more.begin(), more.end());
  return hone(words, input);
}

TEST(Explain, SaysWhatPredictSaysAndWhy) {
  const Finished explained = explain_ig({});
  ASSERT_EQ(explained.code, 0) << explained.err;
  const Finished predicted = hone({"predict", "--model", golden("bert-words")}, kExplained);
  const std::vector<Json> answers = explained.objects(), plain = predicted.objects();
  ASSERT_EQ(answers.size(), 3u);
  for (size_t i = 0; i < answers.size(); ++i) {
    Json answer = answers[i];
    answer.erase("phrases");
    EXPECT_EQ(answer, plain[i]);
  }
  const Json& phrases = answers[0].at("phrases");
  ASSERT_EQ(phrases.size(), 4u);
  for (size_t i = 0; i < phrases.size(); ++i) {
    EXPECT_LE(phrases[i].at("share"), phrases[i > 0 ? i - 1 : 0].at("share"));
    const auto start = phrases[i].at("start").get<size_t>();
    const auto end = phrases[i].at("end").get<size_t>();
    EXPECT_EQ(phrases[i].at("text"), kExplained.substr(start, end - start));
  }
  EXPECT_FALSE(answers[2].contains("phrases")) << "of an empty text";
  EXPECT_NE(explain_ig({"--steps", "1"}).out, explained.out);
}

TEST(Explain, WritesAPageWithTheLabelsOfTheInput) {
  const Scratch scratch;
  const std::string page = scratch / "page.html";
  const std::string rows =
      "{\"text\":\"the </script> film\",\"label\":\"positive\"}\n"
      "{\"text\":\"not good\",\"label\":1}\n";
  const Finished made =
      explain_ig({"--format", "jsonl", "--html", page, "--output", scratch / "out"}, rows);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  const std::string text = read_file(page);
  EXPECT_NE(text.find("\"text\":\"the \\u003c/script> film\",\"gold\":\"positive\""), text.npos);
  EXPECT_NE(text.find("\"text\":\"not good\",\"gold\":\"positive\""), text.npos);
  EXPECT_NE(text.find("integrated gradients, 50 steps"), text.npos);
  const Finished bad = explain_ig({"--format", "jsonl", "--html", scratch / "other.html"},
                                  "{\"text\":\"a\",\"label\":\"no such\"}\n");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("no such"), bad.err.npos) << bad.err;
  EXPECT_EQ(scratch.entries().size(), 2u) << "half a page";
}

TEST(Explain, CutsLongTextsAndSaysSo) {
  const Finished cut = explain_ig({"--max_seq_length", "5"});
  ASSERT_EQ(cut.code, 0);
  EXPECT_EQ(cut.objects()[1].at("original_tokens"), 11);
  EXPECT_EQ(cut.objects()[1].at("phrases").size(), 3u);
  EXPECT_NE(cut.err.find("2 of 3 texts were cut to 5 tokens"), cut.err.npos) << cut.err;
  EXPECT_EQ(explain_ig({"--max_seq_length", "5", "--no-truncate"}).code, 2);
}

TEST(Explain, RefusesInOneLine) {
  expect_refused(hone({"explain"}), {"--model"});
  expect_refused(hone({"explain", "--model", golden("bert-words")}),
                 {"bert-words", "hone train --explain", "--method ig"});
  expect_refused(explain_ig({"--method", "magic"}), {"--method", "ig", "'magic'"});
  expect_refused(explain_ig({"--steps", "0"}), {"--steps"});
  expect_refused(explain_ig({"--dtype", "int8"}), {"--dtype", "fp32 or bf16"});
  expect_refused(explain_ig({"--format", "jsonl"}, "{\"text\":\"a\",\"text_pair\":\"b\"}\n"),
                 {"line 1", "pair"});
  expect_refused(explain_ig({}, kExplained, "bert-bare"), {"bert-bare", "head"});
}

}  // namespace
}  // namespace hone::cli
