#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "text/tokenizer_golden.h"

namespace hone::text {
namespace {

namespace fs = std::filesystem;

class TokenizerFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone-tokenizer-files-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string lines_by_id(const Json& vocab, const char* end) {
    std::map<int, std::string> by_id;
    for (const auto& [token, id] : vocab.items()) by_id[id.get<int>()] = token;
    std::string lines;
    for (const auto& [id, token] : by_id) lines += token + end;
    return lines;
  }
  fs::path folder_;
};

TEST_F(TokenizerFiles, VocabTxtIsBert) {
  const Json golden = read_golden("bert");
  for (const char* end : {"\n", "\r\n"}) {
    write("vocab.txt", lines_by_id(golden["tokenizer"]["model"]["vocab"], end));
    expect_goldens(Tokenizer::load(folder_), golden["cases"]);
    expect_goldens(Tokenizer::load(folder_, "distilbert"), golden["cases"]);
  }
}

TEST_F(TokenizerFiles, ConfigChangesBert) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nA\na\n\u00e9\n");
  write("tokenizer_config.json",
        R"({"do_lower_case": false, "strip_accents": false, "model_max_length": 512})");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.encode({"A a \u00e9", std::nullopt}).ids,
            (std::vector<int32_t>{2, 5, 6, 7, 3}));
  EXPECT_EQ(tokenizer.model_max_length(), 512);
  write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(Tokenizer::load(folder_).model_max_length(), std::nullopt);
  EXPECT_EQ(Tokenizer::load(folder_).encode({"A", std::nullopt}).ids,
            (std::vector<int32_t>{2, 6, 3}));
}

TEST_F(TokenizerFiles, VocabJsonAndMergesAreRoberta) {
  const Json golden = read_golden("roberta");
  const Json& model = golden["tokenizer"]["model"];
  if (model["ignore_merges"] == true) GTEST_FAIL() << "the golden is not RoBERTa's";
  write("vocab.json", model["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : model["merges"]) {
    merges += merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  }
  write("merges.txt", merges);
  // Without <pad> among the golden's added tokens, and <mask> takes spaces before it along.
  write("tokenizer_config.json", R"({"pad_token": "<s>",
    "mask_token": {"content": "<mask>", "lstrip": true, "normalized": false}})");
  expect_goldens(Tokenizer::load(folder_, "roberta"), golden["cases"]);
}

TEST_F(TokenizerFiles, MissingFilesAreNamed) {
  for (const char* family : {"", "bert", "albert"}) {
    try {
      Tokenizer::load(folder_, family);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::bad_file);
      EXPECT_NE(std::string(e.what()).find(folder_.string()), std::string::npos);
    }
  }
  EXPECT_THROW(Tokenizer::load(folder_ / "nothing.json"), Error);
  write("vocab.txt", "a\nb\n");
  EXPECT_THROW(Tokenizer::load(folder_), Error) << "no [CLS]";
}

TEST_F(TokenizerFiles, SentencePieceModelIsAlbert) {
  const char* data = std::getenv("HONE_DATA");
  const fs::path folder =
      fs::path(data ? data : HONE_TEST_DIR "/../../../shared/data") / "tokenizers" / "albert";
  if (!fs::exists(folder))
    GTEST_SKIP() << folder << " is not there: ALBERT's spiece.model not read";
  const Tokenizer tokenizer = Tokenizer::load(folder);
  const Encoding encoding = tokenizer.encode({"Hello W\u00f6rld", "[MASK]"});
  std::vector<std::string> tokens;
  for (size_t i = 0; i < encoding.size(); ++i) tokens.push_back(tokenizer.token(encoding, i));
  EXPECT_EQ(tokens, (std::vector<std::string>{"[CLS]", "\u2581hello", "\u2581world", "[SEP]",
                                              "[MASK]", "[SEP]"}));
  EXPECT_EQ(encoding.type_ids, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(tokenizer.id_end(), 30000);
}

}  // namespace
}  // namespace hone::text
