// Answers under a memory budget: the same bits, less memory, and clear words where it cannot be.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "cli/program.h"
#include "sanitized.h"

namespace hone::cli {
namespace {

const std::string kTexts = "the film is great\nthe movie was not good , it was dull\na\n";

std::string packed(const Scratch& scratch, const std::string& name, const Words& more = {}) {
  const std::string folder = scratch / (name + "-stream");
  Words words = {"convert", "--model", golden(name), "--output", folder, "--stream", "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  const Finished done = hone(words);
  EXPECT_EQ(done.code, 0) << done.err;
  return folder;
}

Finished answer(const std::string& command, const std::string& model, const Words& more) {
  Words words = {command, "--model", model, "--quiet"};
  words.insert(words.end(), more.begin(), more.end());
  return hone(words, kTexts);
}

/// A sanitizer takes tens of megabytes of its own.
constexpr const char* kFewMegabytes = kSanitized ? "120MB" : "60MB";

TEST(Budget, GivesTheAnswersOfAnUnlimitedRun) {
  const Scratch scratch;
  for (const char* name : {"bert-words", "roberta-regression", "albert-groups"}) {
    const std::string folder = packed(scratch, name);
    for (const char* command : {"predict", "embed"}) {
      const Finished whole = answer(command, golden(name), {});
      ASSERT_EQ(whole.code, 0) << whole.err;
      for (const std::string& model : {golden(name), folder}) {
        const Finished streamed = answer(command, model, {"--memory-budget", kFewMegabytes});
        EXPECT_EQ(streamed.code, 0) << streamed.err;
        EXPECT_EQ(streamed.out, whole.out) << name;
      }
      EXPECT_EQ(answer(command, folder, {}).out, whole.out) << name;
    }
  }
}

TEST(Budget, TooSmallNamesTheLeastAndThatDoes) {
  const Finished none = answer("predict", golden("bert-words"), {"--memory-budget", "1MB"});
  expect_refused(none, {"--memory-budget", "the least is"});
  std::smatch least;
  ASSERT_TRUE(std::regex_search(none.err, least, std::regex("the least is (\\d+) MB")));
  // A little more, for pages that one run touches and another does not.
  const int64_t enough = std::stoll(least[1]) + 1;
  const Finished done =
      answer("predict", golden("bert-words"), {"--memory-budget", std::to_string(enough) + "MB"});
  EXPECT_EQ(done.code, 0) << done.err;
  if (!kSanitized) {
    EXPECT_LE(done.peak_kilobytes * 1024, enough * 1'000'000);
  }
}

TEST(Budget, OfNothingOrInWrongUnitsIsRefused) {
  for (const char* size : {"0", "0MB", "64XB", "MB", "-3MB", "64 MB"}) {
    for (const char* command : {"predict", "embed"}) {
      expect_refused(answer(command, golden("bert-words"), {"--memory-budget", size}),
                     {"--memory-budget"});
    }
  }
}

TEST(Budget, AnotherDtypeThanThePackedOneIsRefused) {
  const Scratch scratch;
  const std::string folder = packed(scratch, "bert-words", {"--dtype", "bf16"});
  EXPECT_EQ(answer("predict", folder, {}).out,
            answer("predict", golden("bert-words"), {"--dtype", "bf16"}).out);
  expect_refused(answer("predict", folder, {"--dtype", "fp32"}), {"hone_stream.bin", "bf16"});
}

TEST(Budget, APackedFileThatChangedIsExitCode1) {
  const Scratch scratch;
  const std::string folder = packed(scratch, "bert-words");
  {
    std::fstream file(folder + "/hone_stream.bin", std::ios::binary | std::ios::in | std::ios::out);
    const auto size = std::filesystem::file_size(folder + "/hone_stream.bin");
    // Among the matrices, behind embeddings and vectors and before the index.
    for (uint64_t at = size / 2; at < size / 4 * 3; at += 512) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put('!');
    }
  }
  for (const Words& more : {Words{}, Words{"--memory-budget", kFewMegabytes}}) {
    const Finished done = answer("predict", folder, more);
    EXPECT_EQ(done.code, 1);
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find("hone_stream.bin"), std::string::npos) << done.err;
    EXPECT_NE(done.err.find("checksum"), std::string::npos) << done.err;
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

TEST(Budget, APackedFolderSaysWhatItIsAndWhatItCannotBe) {
  const Scratch scratch;
  const std::string folder = packed(scratch, "bert-words", {"--dtype", "bf16"});
  const Finished facts = hone({"info", "--model", folder, "--json"});
  ASSERT_EQ(facts.code, 0) << facts.err;
  const Json model = facts.objects().at(0)["model"];
  const Json plain =
      hone({"info", "--model", golden("bert-words"), "--json"}).objects().at(0)["model"];
  EXPECT_EQ(model["parameters"], plain["parameters"]);
  EXPECT_EQ(model["labels"], plain["labels"]);
  EXPECT_EQ(model["dtype"], "bf16");
  EXPECT_EQ(model["packed_file"], "hone_stream.bin");
  EXPECT_GT(model["bytes_by_dtype"]["bf16"], 0);
  EXPECT_FALSE(model.contains("train_bytes"));
  const Finished text = hone({"info", "--model", folder});
  EXPECT_NE(text.out.find("hone_stream.bin"), std::string::npos) << text.out;
  expect_refused(hone({"info", "--model", folder, "--dtype", "int8"}), {"hone_stream.bin", "bf16"});

  expect_refused(hone({"train", "--model", folder, "--output_dir", scratch / "run", "--quiet"}),
                 {folder, "hone_stream.bin", "converted from"});
  const std::string out = scratch / "out";
  expect_refused(hone({"convert", "--model", folder, "--output", out}),
                 {folder, "hone_stream.bin", "converted from"});
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace hone::cli
