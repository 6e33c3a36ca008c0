#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/version.h"
#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

const Words kCommands = {"train", "predict", "eval",  "explain", "embed", "tokenize",
                         "info",  "convert", "bench", "study",   "serve", "completion"};

TEST(Options, EveryHelpFitsAScreenAndEndsWithAnExample) {
  std::vector<Words> asked = {{"--help"}};
  for (const std::string& command : kCommands) asked.push_back({command, "--help"});
  for (const Words& words : asked) {
    const Finished help = hone(words);
    SCOPED_TRACE(words[0]);
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.err, "");
    Words lines;
    std::istringstream text(help.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    EXPECT_LE(lines.size(), 40u);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
    ASSERT_FALSE(lines.empty());
    EXPECT_TRUE(lines.back().starts_with("Example: ")) << lines.back();
    EXPECT_NE(lines.back().find("hone "), std::string::npos);
  }
}

TEST(Help, IsNoValueOfAnOption) {
  const std::vector<Words> asked = {{"bench", "--small", "--help"},
                                    {"bench", "--small", "-h"},
                                    {"predict", "--model", "DIR", "--threads", "--help"},
                                    {"predict", "--help", "--model"}};
  for (const Words& words : asked) {
    const Finished help = hone(words);
    SCOPED_TRACE(words[0] + " " + words[1]);
    EXPECT_EQ(help.code, 0) << help.err;
    EXPECT_EQ(help.out, hone({words[0], "--help"}).out);
  }
  EXPECT_EQ(hone({"train", "--model", "--help-all"}).out, hone({"train", "--help-all"}).out);
  EXPECT_EQ(hone({"predict", "--model", "--version"}).out, hone({"--version"}).out);
  expect_refused(hone({"predict", "--model=--help"}), {"--help"});
}

TEST(Options, MainHelpListsWhatIsThereAndNothingElse) {
  const std::string help = hone({"--help"}).out;
  for (const std::string& command : kCommands) {
    EXPECT_NE(help.find("\n  " + command + " "), std::string::npos) << command;
  }
}

TEST(Options, UnknownNamesAreAnsweredWithTheNearest) {
  expect_refused(hone({"predicct"}), {"'predicct'", "did you mean predict?"});
  expect_refused(hone({"zzzzzzzzz"}), {"'zzzzzzzzz'", "--help"});
  expect_refused(hone({"predict", "--max-len", "3"}), {"'--max-len'"});
  expect_refused(hone({"predict", "--max_seq_lenght=3"}),
                 {"'--max_seq_lenght'", "did you mean --max_seq_length?"});
  expect_refused(hone({"embed", "--normalise"}), {"'--normalise'", "did you mean --normalize?"});
  expect_refused(hone({"info", "extra"}), {"'extra'"});
  expect_refused(hone({"info", "-x"}), {"'-x'"});
  EXPECT_EQ(hone({}).code, 2);
}

TEST(Options, DashAndUnderscoreAreAlikeAndModelHasItsLongName) {
  const std::string model = golden("bert-words");
  const std::string expected =
      hone({"predict", "--model", model, "--max_seq_length", "4"}, "the film is great\n").out;
  EXPECT_NE(expected.find("\"tokens\":4,\"truncated\":true,\"original_tokens\":6"),
            std::string::npos)
      << expected;
  for (const Words& spelling :
       {Words{"--model_name_or_path", model, "--max-seq-length", "4"},
        Words{"--model-name-or-path=" + model, "--max-seq_length=4"},
        Words{"--model", "overridden", "--model", model, "--max_seq-length", "4"}}) {
    Words words = {"predict"};
    words.insert(words.end(), spelling.begin(), spelling.end());
    EXPECT_EQ(hone(words, "the film is great\n").out, expected) << spelling[0];
  }
}

TEST(Options, BadValuesNameTheOptionAndTheValue) {
  const std::string model = golden("bert-words");
  expect_refused(hone({"predict", "--model", model, "--threads", "many"}), {"--threads", "'many'"});
  expect_refused(hone({"predict", "--model", model, "--threads", "0"}), {"--threads", "'0'"});
  expect_refused(hone({"predict", "--model", model, "--max_seq_length", "25"}),
                 {"--max_seq_length", "25", "24"});
  expect_refused(hone({"predict", "--model", model, "--max_seq_length"}), {"--max_seq_length"});
  expect_refused(hone({"predict", "--model", model, "--device", "cuda:1"}),
                 {"--device", "'cuda:1'"});
  expect_refused(hone({"predict", "--model", model, "--device", "tpu"}), {"--device", "'tpu'"});
  expect_refused(hone({"predict", "--model", model, "--dtype", "fp16"}),
                 {"--dtype", "'fp16'", "bf16"});
  expect_refused(hone({"predict", "--model", model, "--dtype", "int4"}), {"--dtype", "'int4'"});
  expect_refused(hone({"predict", "--model", model, "--format", "xml"}), {"'xml'"});
  expect_refused(hone({"embed", "--model", model, "--pooling", "sum"}), {"--pooling", "'sum'"});
  expect_refused(hone({"predict"}), {"--model"});
}

TEST(Options, ReportsThatHoneDoesNotWriteAreRefusedByName) {
  for (const char* name : {"wandb", "tensorboard,wandb", "mlflow", "Tensorboard", ","}) {
    expect_refused(hone({"train", "--report_to", name}),
                   {"--report_to", "tensorboard, all or none"});
  }
  expect_refused(hone({"train", "--report_to", "tensorboard,wandb"}), {"'wandb'"});
  for (const char* name : {"tensorboard", "all", "none", "tensorboard,all"}) {
    // What is refused then is the next mistake.
    expect_refused(hone({"train", "--report_to", name, "--balance", "maybe"}), {"--balance"});
  }
}

TEST(Options, VersionIsPrintedByAll) {
  const Finished version = hone({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, std::string("hone ") + kVersion + "\n");
  for (const std::string& command : kCommands) {
    EXPECT_EQ(hone({command, "--version"}).out, version.out);
  }
}

TEST(Options, NearestIsNearOrNothing) {
  EXPECT_EQ(nearest("--max-seq-len", {"--max_seq_length", "--model"}), "--max_seq_length");
  EXPECT_EQ(nearest("--qqqqqq", {"--max_seq_length", "--model"}), std::nullopt);
  EXPECT_EQ(nearest("", {"a-long-name"}), std::nullopt);
}

TEST(Options, EveryKindOfErrorHasItsExitCode) {
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::bad_file), 2);
  EXPECT_EQ(exit_code(ErrorKind::unsupported), 2);
  EXPECT_EQ(exit_code(ErrorKind::io), 1);
  EXPECT_EQ(exit_code(ErrorKind::memory), 1);
  EXPECT_EQ(exit_code(ErrorKind::internal), 1);
}

}  // namespace
}  // namespace hone::cli
