#include "data/tree_file.h"

#include <cstdlib>

#include "base/file.h"
#include "data/reading.h"
#include "data/tasks.h"

namespace hone::data {
namespace {

std::vector<trees::Tree> read_trees(const std::string& path) {
  std::vector<trees::Tree> all;
  TreeFile file = open_trees(path);
  for (trees::Tree tree; file.next(tree);) all.push_back(std::move(tree));
  return all;
}

TEST(TreeFile, GivesTreesAcrossLines) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.mrg", "\n( (S (NP a)\n  b))\r\n(X c) (Y (Z d e) f)");
  const auto trees = read_trees(path);
  ASSERT_EQ(trees.size(), 3u);
  EXPECT_EQ(brackets_of(trees[0]), "(S a b)");
  EXPECT_EQ(brackets_of(trees[2]), "(Y (Z d e) f)");
  const auto stream = open_tree_records(path);
  const std::vector<Record> records = records_of(*stream);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].text, "d e f");
  EXPECT_EQ(records[2].pair, "(Y (Z d e) f)");
  EXPECT_EQ(stream->where(records[2]), path + ": line 4");
}

TEST(TreeFile, ErrorsNameFileLineAndColumn) {
  const TemporaryFolder folder;
  const std::string bad = folder.write("bad.txt", "(S a b)\n(S a))\n");
  EXPECT_EQ(error_of([&] { read_trees(bad); }),
            bad + ": line 2: tree: column 6: a bracket closes nothing");
  const std::string open = folder.write("open.txt", "(S a b)\n(S (NP a)\n\n");
  EXPECT_EQ(error_of([&] { read_trees(open); }),
            open + ": line 3: tree: a bracket is never closed");
  const std::string none = folder.write("none.txt", "\n");
  EXPECT_EQ(error_of([&] { load_trees({none}); }), none + ": no trees");
}

TEST(TreeFile, BanksOfOtherFilesHaveOtherHashes) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.txt", "(S a b)"), b = folder.write("b.txt", "(S a c)");
  const auto bank = load_trees({a, b});
  EXPECT_EQ(bank->index.size(), 2u);
  EXPECT_TRUE(bank->index.find("A C"));
  EXPECT_EQ(bank->hash, load_trees({a, b})->hash);
  EXPECT_NE(bank->hash, load_trees({b, a})->hash);
  EXPECT_NE(bank->hash, load_trees({a})->hash);
}

/// The published sets: rows of SST-2 get their trees from the Stanford treebank by their text.
TEST(RealTrees, CoverSst2ByText) {
  const char* variable = std::getenv("HONE_DATA");
  const std::string folder = variable ? variable : HONE_TEST_DIR "/../../../shared/data";
  if (!folder_exists(folder)) GTEST_SKIP() << "no data sets in " << folder << " (HONE_DATA)";
  const auto bank = load_trees({folder + "/sst_trees/train.txt", folder + "/sst_trees/dev.txt"});
  EXPECT_EQ(bank->index.size(), 8544u + 1101u);
  const auto missing = [&](const char* split) {
    size_t rows = 0, without = 0;
    const auto stream = open_task(*find_task("sst2"), folder + "/glue", split);
    for (Record record; stream->next(record); ++rows) {
      without += bank->index.find(record.text) ? 0 : 1;
    }
    return std::pair(rows, without);
  };
  EXPECT_EQ(missing("validation"), std::pair(size_t{872}, size_t{0}));
  const auto [rows, without] = missing("train");
  EXPECT_EQ(rows, 67349u);
  EXPECT_LE(without, 296u) << "99.56% are covered";
  EXPECT_EQ(read_trees(folder + "/gum_trees/train.txt").size(), 4906u);
}

}  // namespace
}  // namespace hone::data
