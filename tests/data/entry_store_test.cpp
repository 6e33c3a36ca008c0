#include "data/entry_store.h"

#include "data/entry_fixture.h"
#include "data/reading.h"

namespace hone::data {
namespace {

std::string refusal_of(const StoreDraft& draft) {
  const TemporaryFolder folder;
  draft.write(folder.path());
  return error_of([&] {
    const EntryStore store(folder.path());
    Entries entries;
    store.read(0, store.rows(), entries);
  });
}

TEST(EntryStore, GivesRowsAndWords) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_entry_store(folder.path()));
  StoreDraft().write(folder.path());
  for (const std::string& path : {folder.path(), folder.path() + "/index.h5"}) {
    ASSERT_TRUE(is_entry_store(path));
    const EntryStore store(path);
    EXPECT_EQ(store.rows(), 2);
    EXPECT_EQ(store.length(), 3);
    EXPECT_EQ(store.id_end(), 4);
    EXPECT_EQ(store.vocabulary(), (std::vector<std::string>{"good", "bad"}));
    Entries entries;
    store.read(1, 1, entries);
    EXPECT_EQ(entries.ids, (std::vector<int32_t>{1, 2, 3}));
    EXPECT_EQ(entries.lengths, (std::vector<int32_t>{3}));
    EXPECT_EQ(entries.labels, (std::vector<float>{5}));
    EXPECT_NE(error_of([&] { store.read(1, 2, entries); }), "no error");
  }
}

TEST(EntryStore, ADamagedOrMissingFileIsNamed) {
  for (const char* name : {"index.h5", "shard-00000.h5", "vocabulary.txt"}) {
    const TemporaryFolder folder;
    StoreDraft().write(folder.path());
    const std::string path = folder.path() + "/" + name;
    std::string bytes = read_file(path);
    bytes[bytes.size() / 2] ^= 1;
    write_file(path, bytes);
    EXPECT_NE(error_of([&] { EntryStore store(folder.path()); }).find(path + ": damaged"),
              std::string::npos);
    write_file(path, bytes + "x");
    EXPECT_NE(error_of([&] { EntryStore store(folder.path()); }).find(path + ": "),
              std::string::npos);
    std::filesystem::remove(path);
    EXPECT_NE(error_of([&] { EntryStore store(folder.path()); }).find(path + ": cannot open"),
              std::string::npos);
  }
}

TEST(EntryStore, ValuesOutOfRangeAreRefused) {
  StoreDraft draft;
  EXPECT_EQ(refusal_of(draft), "no error");
  draft.lengths = {2, 4};
  EXPECT_NE(refusal_of(draft).find("row 1: length 4 of 3"), std::string::npos);
  draft.lengths = {-1, 3};
  EXPECT_NE(refusal_of(draft).find("row 0: length -1"), std::string::npos);
  draft = {};
  draft.ids[4] = 4;
  EXPECT_NE(refusal_of(draft).find("row 1: id 4"), std::string::npos);
  draft.ids[4] = -1;
  EXPECT_NE(refusal_of(draft).find("row 1: id -1"), std::string::npos);
  draft = {};
  draft.ids[2] = 2;  // the entry ends before it
  EXPECT_NE(refusal_of(draft).find("row 0: id 2 at 2 of 2"), std::string::npos);
}

TEST(EntryStore, AManifestThatDoesNotFitIsRefused) {
  StoreDraft draft;
  draft.manifest.rows = 3;
  EXPECT_NE(refusal_of(draft).find("2 rows, but store.json says 3"), std::string::npos);
  draft = {};
  draft.manifest.length = 2;
  EXPECT_NE(refusal_of(draft).find("type or width"), std::string::npos);
  draft = {};
  draft.manifest.id_end = 5;
  EXPECT_NE(refusal_of(draft).find("id_end: 5"), std::string::npos);
  draft = {};
  draft.vocabulary = "good\ngood\n";
  EXPECT_NE(refusal_of(draft).find("'good' is there twice"), std::string::npos);
  draft.vocabulary = "good\n\n";
  EXPECT_NE(refusal_of(draft).find("line 2: expected a word"), std::string::npos);
}

}  // namespace
}  // namespace hone::data
