#include "base/file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/json.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone-file-test-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(Files, AppearOnCommitAlone) {
  const std::string big(3 << 20, 'x');
  {
    OutputFile file(path("a"));
    file.write(big);
    EXPECT_FALSE(file_exists(path("a")));
    file.commit();
  }
  EXPECT_EQ(read_file(path("a")), big);
  {
    OutputFile file(path("b"));
    file.write("half");
  }
  EXPECT_FALSE(file_exists(path("b")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, GetASecondNameThatOutlivesTheFirst) {
  write_file(path("first"), "1");
  write_file(path("second"), "2");
  ASSERT_TRUE(link_file(path("first"), path("second")));
  EXPECT_EQ(read_file(path("second")), "1");
  ASSERT_TRUE(link_file(path("first"), path("second")));
  write_file(path("first"), "3");  // takes the name, not the contents
  EXPECT_EQ(read_file(path("second")), "1");
  EXPECT_FALSE(link_file(path("missing"), path("second")));
  EXPECT_EQ(read_file(path("second")), "1");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(Files, FoldersAppearOnCommitAlone) {
  {
    OutputFolder folder(path("out"));
    OutputFile file(folder.partial() + "/f");
    file.write("1");
    file.commit();
    EXPECT_FALSE(folder_exists(path("out")));
    folder.commit();
  }
  EXPECT_EQ(read_file(path("out") + "/f"), "1");
  EXPECT_THROW(OutputFolder again(path("out")), Error);
  { OutputFolder dropped(path("dropped")); }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, UnfinishedOutputCanBeRemovedAtOnce) {
  OutputFile done(path("done"));
  done.commit();
  OutputFile file(path("a"));
  const OutputFolder folder(path("b"));
  OutputFile inside(folder.partial() + "/f");
  EXPECT_EQ(entries(), 3u);
  remove_partial_output();
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, ReadsAreBounded) {
  OutputFile out(path("a"));
  out.write("12345");
  out.commit();
  const InputFile file(path("a"));
  EXPECT_EQ(file.size(), 5u);
  char bytes[8];
  file.read(2, bytes, 3);
  EXPECT_EQ(std::string(bytes, 3), "345");
  EXPECT_THROW(file.read(3, bytes, 3), Error);
  EXPECT_THROW(read_file(path("a"), 4), Error);
  EXPECT_THROW(InputFile(path("none")), Error);
  EXPECT_THROW(InputFile(folder_.string()), Error);
}

TEST_F(Files, AWholeFileReplacesTheOneBefore) {
  write_file(path("a"), "first and longer");
  write_file(path("a"), std::string_view("two\0", 4));
  EXPECT_EQ(read_file(path("a")), std::string_view("two\0", 4));
  EXPECT_EQ(entries(), 1u);
  EXPECT_THROW(write_file(path("none/a"), ""), Error);
}

TEST_F(Files, JsonIsWrittenThatReadersTake) {
  write_json(path("a"), {{"name", "caf\xe9"}, {"list", {1}}});
  EXPECT_EQ(read_file(path("a")),
            "{\n  \"list\": [\n    1\n  ],\n  \"name\": \"caf\xef\xbf\xbd\"\n}\n");
}

TEST_F(Files, AFullDiskIsAnIoError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  // OutputFile writes beside its name; a link makes that place the full device.
  const std::string partial = path("a") + ".partial-" + std::to_string(::getpid());
  fs::create_symlink("/dev/full", partial);
  OutputFile file(path("a"));
  try {
    file.write(std::string(2 << 20, 'x'));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::io);
    EXPECT_NE(std::string(e.what()).find("No space left"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace hone
