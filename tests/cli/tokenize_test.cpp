#include <gtest/gtest.h>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

TEST(Tokenize, WritesIdsTokensOffsetsAndTypes) {
  const Finished done = hone({"tokenize", "--model", golden("bert-words"), "--format", "jsonl"},
                             "{\"text\":\"caf\u00e9 zzz\",\"text_pair\":\"Great!\"}\n");
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out,
            "{\"ids\":[2,39,1,3,29,7,3],"
            "\"tokens\":[\"[CLS]\",\"cafe\",\"[UNK]\",\"[SEP]\",\"great\",\"!\",\"[SEP]\"],"
            "\"offsets\":[[0,0],[0,4],[5,8],[0,0],[0,5],[5,6],[0,0]],"
            "\"type_ids\":[0,0,0,0,1,1,1]}\n");
}

TEST(Tokenize, GivesTheIdsThatPyTorchWasGiven) {
  for (const char* name :
       {"bert-words", "roberta-regression", "albert-groups", "sentence-bert-mean"}) {
    const Json texts = goldens_of(name).at("texts");
    std::string lines;
    for (const Json& row : texts) {
      Json line = {{"text", row.at("text")}};
      if (row.contains("text_pair")) line["text_pair"] = row["text_pair"];
      lines += line.dump() + "\n";
    }
    const Finished done = hone({"tokenize", "--model", golden(name), "--format", "jsonl"}, lines);
    const std::vector<Json> got = done.objects();
    ASSERT_EQ(got.size(), texts.size()) << done.err;
    for (size_t i = 0; i < got.size(); ++i) {
      // The goldens are cut to the model's length, which is not the tokenizer's.
      const size_t size = texts[i].at("ids").size();
      if (got[i].at("ids").size() > size) continue;
      EXPECT_EQ(got[i].at("ids"), texts[i].at("ids")) << name << " " << i;
      EXPECT_EQ(got[i].at("type_ids"), texts[i].at("type_ids")) << name << " " << i;
    }
  }
}

TEST(Tokenize, ReadsATokenizerFileAlone) {
  const Scratch scratch;
  const std::string file =
      scratch.write("t.json", read_file(golden("bert-words") + "/tokenizer.json"));
  EXPECT_EQ(hone({"tokenize", "--tokenizer", file}, "the film\n").out,
            hone({"tokenize", "--model", golden("bert-words")}, "the film\n").out);
  expect_refused(hone({"tokenize"}), {"--model", "--tokenizer"});
  expect_refused(hone({"tokenize", "--tokenizer", file, "--model", golden("bert-words")}),
                 {"--model", "--tokenizer"});
  expect_refused(hone({"tokenize", "--tokenizer", scratch / "none.json"}), {"none.json"});
}

TEST(Tokenize, CutsAndLeavesOutSpecialTokensAsAsked) {
  const Words words = {"tokenize", "--model", golden("bert-words")};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return hone(all, "the film is great\n").objects().at(0);
  };
  EXPECT_EQ(with({"--no-special-tokens"}).at("ids"), Json({17, 18, 20, 29}));
  const Json cut = with({"--max_seq_length", "4"});
  EXPECT_EQ(cut.at("ids"), Json({2, 17, 18, 3}));
  EXPECT_EQ(cut.at("original_tokens"), 6);
}

TEST(Tokenize, EmitsValidUtf8OfAnyBytes) {
  const Finished done =
      hone({"tokenize", "--model", golden("roberta-regression")}, "a\xff\xe2\x82 b\n");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.objects().size(), 1u);
}

}  // namespace
}  // namespace hone::cli
