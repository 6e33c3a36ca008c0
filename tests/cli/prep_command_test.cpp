#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {
namespace {

namespace fs = std::filesystem;

class PrepCommand : public testing::Test {
 protected:
  PrepCommand() {
    std::string name = (fs::temp_directory_path() / "hone-prep-cli-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    for (int i = 0; i < 300; ++i) {
      lines_ += "{\"reviewText\": \"Film number " +
                std::string(static_cast<size_t>(i % 7 + 1), 'x') +
                " was great, not dull\", \"overall\": " + std::to_string(i % 5) + "}\n";
    }
    write_file(folder_ + "/a.jsonl", lines_);
    write_file(folder_ + "/b.jsonl", lines_);
  }
  ~PrepCommand() override { fs::remove_all(folder_); }

  Words words(const std::string& output, const Words& more = {}) const {
    Words all = {"prep",
                 "--input",
                 folder_ + "/a.jsonl",
                 folder_ + "/b.jsonl",
                 "--output",
                 folder_ + "/" + output,
                 "--vocabulary",
                 "5",
                 "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::map<std::string, std::string> files(const std::string& output) const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_ + "/" + output)) {
      found[entry.path().filename().string()] = read_file(entry.path().string());
    }
    return found;
  }

  std::string folder_;
  std::string lines_;
};

TEST_F(PrepCommand, SeveralProcessesWriteTheStoreOfOne) {
  const Finished one = hone(words("one"));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.objects()[0]["rows"], 7);
  EXPECT_EQ(one.objects()[0]["records"], 600);
  const Finished three = hone(words("three", {"--processes", "3", "--threads", "1"}));
  ASSERT_EQ(three.code, 0) << three.err;
  EXPECT_EQ(three.objects().size(), 1u);
  EXPECT_EQ(files("one"), files("three"));
}

TEST_F(PrepCommand, AMistakeInOneProcessIsOneLineAndItsExitCode) {
  write_file(folder_ + "/b.jsonl", "{\"reviewText\": \"x\", \"overall\": \"bad\"}\n");
  const Finished done = hone(words("store", {"--processes", "2"}));
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("b.jsonl: line 1: field 'overall': expected a number, got 'bad'"),
            std::string::npos)
      << done.err;
}

TEST_F(PrepCommand, ARankThatNeverComesIsNamedAndTheWorkIsTakenUp) {
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  const Finished alone = hone(words("store", {"--comm_timeout", "1"}));
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(alone.code, 1);
  EXPECT_NE(alone.err.find("rank 1 was silent for 1 s"), std::string::npos) << alone.err;
  ASSERT_EQ(hone(words("store")).code, 0);
  ASSERT_EQ(hone(words("straight")).code, 0);
  EXPECT_EQ(files("store"), files("straight"));
}

TEST_F(PrepCommand, MapAndReduceGoOverPipes) {
  const Finished mapped = hone({"prep", "map"}, lines_);
  ASSERT_EQ(mapped.code, 0) << mapped.err;
  EXPECT_EQ(std::count(mapped.out.begin(), mapped.out.end(), '\n'), 300);
  std::vector<std::string> lines;
  for (size_t at = 0; at < mapped.out.size(); at = mapped.out.find('\n', at) + 1) {
    lines.push_back(mapped.out.substr(at, mapped.out.find('\n', at) + 1 - at));
  }
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line;
  const Finished reduced = hone({"prep", "reduce"}, sorted);
  ASSERT_EQ(reduced.code, 0) << reduced.err;
  EXPECT_EQ(std::count(reduced.out.begin(), reduced.out.end(), '\n'), 7);
  EXPECT_NE(reduced.out.find("\tfilm number x great not dull\n"), std::string::npos);
}

TEST_F(PrepCommand, MistakesNameTheFlag) {
  const auto error_of_words = [](const Words& all) {
    const Finished done = hone(all);
    EXPECT_EQ(done.code, 2);
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    return done.err;
  };
  EXPECT_NE(error_of_words({"prep"}).find("--input: missing"), std::string::npos);
  EXPECT_NE(error_of_words({"prep", "--input", folder_ + "/a.jsonl", "--output", folder_ + "/x"})
                .find("--vocabulary: expected it or --tokenizer"),
            std::string::npos);
  EXPECT_NE(error_of_words(words("x", {"--vocabulary", "0"})).find("--vocabulary: expected 1 to"),
            std::string::npos);
  EXPECT_NE(error_of_words({"prep", "shuffle"}).find("expected map or reduce"), std::string::npos);
  EXPECT_NE(error_of_words({"prep", "map", "--vocabulary", "10"}).find("expected a file"),
            std::string::npos);
  ASSERT_EQ(hone(words("x")).code, 0);
  EXPECT_NE(error_of_words(words("x")).find("--output: "), std::string::npos);
  ::setenv("HONE_HDF5_PLUGIN", "/nowhere/libhone_hdf5.so", 1);
  EXPECT_NE(error_of_words(words("y")).find("libhdf5-dev"), std::string::npos);
  ::unsetenv("HONE_HDF5_PLUGIN");
}

/// The rows of `hone prep reduce`, a table with a header.
std::string table_of(const std::string& reduced) {
  std::string table = "label\ttext\n";
  for (size_t at = 0; at < reduced.size();) {
    const size_t tab = reduced.find('\t', at);
    const size_t end = reduced.find('\n', at);
    table += reduced.substr(tab + 1, end - tab);
    at = end + 1;
  }
  return table;
}

TEST_F(PrepCommand, TrainingOnAStoreHasTheBitsOfTrainingOnItsTexts) {
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += "{\"reviewText\": \"Film " + std::string(static_cast<size_t>(i), 'x') +
             (i % 2 ? " was great" : " was dull") +
             ", not long\", \"overall\": " + std::to_string(i % 2) + ".0}\n";
  }
  write_file(folder_ + "/a.jsonl", lines);
  write_file(folder_ + "/b.jsonl", lines);
  ASSERT_EQ(hone(words("store")).code, 0);
  std::vector<std::string> keyed;
  const Finished mapped = hone({"prep", "map"}, lines);
  ASSERT_EQ(mapped.code, 0) << mapped.err;
  for (size_t at = 0; at < mapped.out.size(); at = mapped.out.find('\n', at) + 1) {
    keyed.push_back(mapped.out.substr(at, mapped.out.find('\n', at) + 1 - at));
  }
  std::sort(keyed.begin(), keyed.end());
  std::string sorted;
  for (const std::string& line : keyed) sorted += line;
  write_file(folder_ + "/texts.tsv", table_of(hone({"prep", "reduce"}, sorted).out));
  const auto train = [&](const std::string& file, const std::string& output, const Words& more) {
    Words all = {"train",
                 "--model_type",
                 "lstm",
                 "--train_file",
                 folder_ + file,
                 "--validation_file",
                 folder_ + file,
                 "--output_dir",
                 folder_ + output,
                 "--max_steps",
                 "6",
                 "--learning_rate",
                 "0.01",
                 "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    const Finished done = hone(all);
    EXPECT_EQ(done.code, 0) << done.err;
    return std::pair(read_file(folder_ + output + "/model.safetensors"),
                     read_file(folder_ + output + "/eval_results.json"));
  };
  const auto of_store = train("/store", "/of-store", {});
  EXPECT_EQ(read_file(folder_ + "/of-store/vocabulary.txt"),
            read_file(folder_ + "/store/vocabulary.txt"));
  const auto of_texts =
      train("/texts.tsv", "/of-texts", {"--tokenizer_name", folder_ + "/store/vocabulary.txt"});
  EXPECT_EQ(of_store.first, of_texts.first);
  const auto loss_of = [](const std::string& json) {
    return parse_json(json, "r").at("eval_loss");
  };
  EXPECT_EQ(loss_of(of_store.second), loss_of(of_texts.second));
  const Finished scored = hone({"eval", "--model", folder_ + "/of-store", "--test_file",
                                folder_ + "/store/index.h5", "--json"});
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_EQ(scored.objects()[0]["samples"], 40);
  const Finished other =
      hone({"eval", "--model", golden("bert-words"), "--test_file", folder_ + "/store", "--json"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("vocabulary.txt"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace hone::cli
