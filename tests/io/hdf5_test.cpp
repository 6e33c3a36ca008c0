#include "io/hdf5.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "io/hdf5_plugin.h"

namespace hone::io {
namespace {

template <typename Work>
std::string table_refusal(Work work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "no error";
}

class Hdf5Tables : public testing::Test {
 protected:
  Hdf5Tables() {
    std::string name = (std::filesystem::temp_directory_path() / "hone-hdf5-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~Hdf5Tables() override { std::filesystem::remove_all(folder_); }

  std::string put(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    write_file(path, bytes);
    return path;
  }

  std::string folder_;
};

const std::vector<Column> kColumns = {{"ids", ColumnType::i32, 3, 4, ColumnFilter::deflate},
                                      {"score", ColumnType::f32},
                                      {"key", ColumnType::u64, 2}};

/// Makes a table whose values count from `begin`, added by `step` rows at a time.
std::string counted(int64_t rows, int64_t step, int begin = 0,
                    const std::vector<Column>& columns = kColumns) {
  const auto builder = build_table(columns, rows);
  for (int64_t at = 0; at < rows; at += step) {
    const int64_t count = std::min(step, rows - at);
    std::vector<int32_t> ids(static_cast<size_t>(count * 3));
    std::vector<float> scores(static_cast<size_t>(count));
    std::vector<uint64_t> keys(static_cast<size_t>(count * 2));
    std::iota(ids.begin(), ids.end(), static_cast<int32_t>(begin + at * 3));
    std::iota(scores.begin(), scores.end(), static_cast<float>(begin + at));
    std::iota(keys.begin(), keys.end(), static_cast<uint64_t>(begin + at * 2));
    builder->append(count, std::array<const void*, 3>{ids.data(), scores.data(), keys.data()});
  }
  return builder->finish();
}

TEST_F(Hdf5Tables, GiveBackWhatWasWritten) {
  for (const int64_t rows : {0, 1, 3, 4, 5, 8, 41}) {
    const auto table = open_table(put("a.h5", counted(rows, 7)), {"ids", "score", "key"});
    ASSERT_EQ(table->rows(), rows);
    EXPECT_EQ(table->columns()[0].width, 3);
    EXPECT_EQ(table->columns()[0].chunk_rows, 4);
    EXPECT_EQ(table->columns()[0].filter, ColumnFilter::deflate);
    EXPECT_EQ(table->columns()[1].width, 0);
    for (int64_t row = 0; row < rows; ++row) {
      std::array<int32_t, 3> ids{};
      float score = 0;
      std::array<uint64_t, 2> key{};
      table->read(0, row, 1, ids.data());
      table->read(1, row, 1, &score);
      table->read(2, row, 1, key.data());
      EXPECT_EQ(ids[2], row * 3 + 2);
      EXPECT_EQ(score, static_cast<float>(row));
      EXPECT_EQ(key[1], static_cast<uint64_t>(row * 2 + 1));
    }
  }
}

TEST_F(Hdf5Tables, HaveTheSameBytesHoweverRowsCome) {
  EXPECT_EQ(counted(41, 1), counted(41, 41));
  EXPECT_EQ(counted(41, 9), counted(41, 41));
}

TEST_F(Hdf5Tables, AnIndexHasTheRowsOfItsParts) {
  put("one.h5", counted(5, 5));
  put("none.h5", counted(0, 1));
  put("two.h5", counted(3, 3, 100));
  const std::vector<TablePart> parts = {{"one.h5", 5}, {"none.h5", 0}, {"two.h5", 3}};
  const auto table =
      open_table(put("index.h5", build_table_index(kColumns, parts)), {"ids", "score"});
  ASSERT_EQ(table->rows(), 8);
  std::array<float, 4> scores{};
  table->read(1, 3, 4, scores.data());
  EXPECT_EQ(scores, (std::array<float, 4>{3, 4, 100, 101}));
  const auto empty = open_table(put("empty.h5", build_table_index(kColumns, {})), {"ids"});
  EXPECT_EQ(empty->rows(), 0);
}

TEST_F(Hdf5Tables, WhatIsNoTableIsOneLineThatNamesTheFile) {
  const std::string path = put("a.h5", counted(5, 5));
  EXPECT_NE(
      table_refusal([&] { open_table(put("b.h5", "no HDF5"), {"ids"}); }).find("b.h5: HDF5 says"),
      std::string::npos);
  EXPECT_NE(table_refusal([&] { open_table(path, {"nothing"}); }).find("a.h5: data set 'nothing'"),
            std::string::npos);
  const auto table = open_table(path, {"ids"});
  std::array<int32_t, 30> out{};
  for (const auto& [first, count] : {std::pair{-1, 1}, {5, 1}, {0, 6}, {3, -1}}) {
    EXPECT_NE(table_refusal([&, f = first, c = count] { table->read(0, f, c, out.data()); }),
              "no error");
  }
}

TEST_F(Hdf5Tables, RowsOfFilesElsewhereAreRefused) {
  put("one.h5", counted(5, 5));
  for (const char* name : {"../one.h5", "/etc/one.h5", "."}) {
    const std::vector<TablePart> parts = {{name, 5}};
    const std::string path = put("index.h5", build_table_index(kColumns, parts));
    EXPECT_NE(table_refusal([&] { open_table(path, {"ids"}); }).find("do not lie beside it"),
              std::string::npos)
        << name;
  }
}

TEST_F(Hdf5Tables, HugeChunksAreRefused) {
  std::vector<Column> columns = kColumns;
  columns[0].chunk_rows = 1 << 26;
  const std::string path = put("a.h5", counted(0, 1, 0, columns));
  EXPECT_NE(table_refusal([&] { open_table(path, {"ids"}); }).find("chunks are too large"),
            std::string::npos);
}

TEST(Hdf5Plugin, AMissingOrOtherLibraryIsSaid) {
  EXPECT_NE(table_refusal([] { load_hdf5_plugin("/nowhere/libhone_hdf5.so"); }).find("libhdf5-dev"),
            std::string::npos);
  EXPECT_NE(table_refusal([] { load_hdf5_plugin("libm.so.6"); }).find("is not the HDF5 library"),
            std::string::npos);
  EXPECT_EQ(hdf5_version().substr(0, 2), "1.");
}

}  // namespace
}  // namespace hone::io
