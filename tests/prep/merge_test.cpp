#include "prep/merge.h"

#include "prep/counts.h"
#include "prep/prep_fixture.h"
#include "prep/work.h"

namespace hone::prep {
namespace {

struct MergedRow {
  std::string text;
  float label;
  bool operator==(const MergedRow&) const = default;
};

class MergerTest : public testing::Test {
 protected:
  void add(const std::string& text, float label, data::Hash128 hash) {
    CleanText clean(dictionary_);
    clean.clean(text);
    merger_.add({hash, label, static_cast<uint32_t>(clean.codes().size())}, clean.codes());
  }
  std::vector<MergedRow> rows() {
    merger_.sort();
    std::vector<MergedRow> rows;
    for (size_t i = 0; i < merger_.size(); ++i) {
      std::string text;
      append_words(dictionary_, merger_.codes(i), text);
      rows.push_back({text, merger_.head(i).label});
    }
    return rows;
  }

  Dictionary dictionary_{{"film", "good"}, std::vector<std::string>()};
  Merger merger_{dictionary_};
};

TEST_F(MergerTest, RowsAreInTheOrderOfTheirHashes) {
  add("good", 1, {2, 0});
  add("film", 2, {1, 9});
  add("other", 3, {1, 3});
  EXPECT_EQ(rows(), (std::vector<MergedRow>{{"other", 3}, {"film", 2}, {"good", 1}}));
}

TEST_F(MergerTest, TextsOfOneHashAreCompared) {
  add("zebra", 1, {5, 5});
  add("film", 2, {5, 5});
  add("zebra", 1, {5, 5});
  add("apple", 3, {5, 5});
  EXPECT_EQ(rows(), (std::vector<MergedRow>{{"apple", 3}, {"film", 2}, {"zebra", 1}}));
}

TEST_F(MergerTest, TheCommonestLabelIsKeptAndTheLowerOfTwo) {
  for (const float label : {5, 3, 3, 5, 1}) add("film", label, {1, 1});
  for (const float label : {2, 4, 4}) add("good", label, {2, 2});
  add("other", 4, {3, 3});
  add("other", 4, {3, 3});
  EXPECT_EQ(rows(), (std::vector<MergedRow>{{"film", 3}, {"good", 4}, {"other", 4}}));
}

TEST_F(MergerTest, ManyTextsStayApart) {
  for (int copies = 0; copies < 2; ++copies) {
    for (uint64_t i = 0; i < 20000; ++i)
      add("film", static_cast<float>(i % 7), {i, i * 0x9e3779b97f4a7c15});
  }
  EXPECT_EQ(rows().size(), 20000u);
}

TEST(WordCounts, TiesAreBrokenByTheWord) {
  const PrepFolder folder;
  const Dictionary dictionary({"film", "good"}, std::vector<std::string>());
  std::vector<std::string> paths;
  for (const char* text : {"film film good zebra apple", "apple zebra film other"}) {
    WordCounts counts(dictionary);
    CleanText clean(dictionary);
    clean.clean(text);
    counts.add(clean.codes());
    paths.push_back(folder.put("counts" + std::to_string(paths.size()), counts.bytes()));
  }
  const std::vector<std::string> all = {"film", "apple", "zebra", "good", "other"};
  for (size_t size = 0; size < 7; ++size) {
    EXPECT_EQ(commonest_words(paths, size),
              std::vector<std::string>(
                  all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(size, all.size()))));
  }
  const std::string broken = folder.put("broken", read_file(paths[0]).substr(0, 14));
  EXPECT_NE(message_of([&] { commonest_words({broken}, 2); }).find("broken: damaged"),
            std::string::npos);
}

TEST(Runs, GiveBackEachPartition) {
  const PrepFolder folder;
  RunWriter writer(folder / "run", 2);
  const std::vector<uint16_t> codes = {1, 2, 3};
  for (uint64_t i = 0; i < 8; ++i) {
    writer.add({{i << 61, i}, static_cast<float>(i), 3}, codes);
  }
  ASSERT_EQ(writer.finish(), 1);
  const std::string path = RunWriter::name(folder / "run", 0);
  for (size_t partition = 0; partition < 4; ++partition) {
    std::string texts;
    ASSERT_TRUE(read_run(path, 2, partition, texts));
    std::string_view left = texts;
    TextHead head;
    std::span<const uint16_t> found;
    for (uint64_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(next_text(left, head, found));
      EXPECT_EQ(head.hash[1], partition * 2 + i);
      EXPECT_TRUE(std::ranges::equal(found, codes));
    }
    EXPECT_FALSE(next_text(left, head, found));
    EXPECT_TRUE(left.empty());
  }
}

TEST(Runs, EveryDamageIsFound) {
  const PrepFolder folder;
  RunWriter writer(folder / "run", 1);
  writer.add({{1, 2}, 3, 2}, std::vector<uint16_t>{1, 2});
  writer.add({{~uint64_t{0}, 2}, 3, 1}, std::vector<uint16_t>{1});
  ASSERT_EQ(writer.finish(), 1);
  const std::string path = RunWriter::name(folder / "run", 0);
  const std::string bytes = read_file(path);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 4;
    folder.put("run-0000", damaged);
    bool found = false;
    for (size_t partition = 0; partition < 2; ++partition) {
      std::string texts;
      message_of([&] { found = !read_run(path, 1, partition, texts) || found; }) != "no error"
          ? found = true
          : found;
    }
    EXPECT_TRUE(found) << i;
  }
}

TEST(Work, ASealFindsWhatWasChanged) {
  const PrepFolder folder;
  std::string bytes;
  EXPECT_FALSE(read_sealed(folder / "nothing", bytes));
  const std::string whole = sealed("{\"rows\": 1}");
  ASSERT_TRUE(read_sealed(folder.put("a", whole), bytes));
  EXPECT_EQ(bytes, "{\"rows\": 1}");
  std::string damaged = whole;
  damaged[9] = '2';
  EXPECT_FALSE(read_sealed(folder.put("a", damaged), bytes));
  EXPECT_FALSE(read_sealed(folder.put("a", whole.substr(0, 5)), bytes));
}

}  // namespace
}  // namespace hone::prep
