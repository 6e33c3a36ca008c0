#include "base/file_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

/// Writes down calls and lets those of one kind fail.
class CallLog : public FileCallHook {
 public:
  explicit CallLog(std::optional<FileCall> failing = {}, int error = ENOSPC, int turn = 1)
      : failing_(failing), error_(error), turn_(turn) {
    set_file_call_hook(this);
  }
  ~CallLog() override { set_file_call_hook(nullptr); }
  std::optional<int> before(FileCall call, const std::string& path, const std::string&) override {
    calls.push_back(call);
    names.push_back(fs::path(path).filename().string());
    if (call == failing_ && --turn_ == 0) return error_;
    return {};
  }
  std::vector<FileCall> calls;
  std::vector<std::string> names;

 private:
  std::optional<FileCall> failing_;
  int error_;
  int turn_;
};

class FileCalls : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone-file-calls-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  bool is_empty() const { return fs::is_empty(folder_); }
  fs::path folder_;
};

using enum FileCall;

TEST_F(FileCalls, AFileIsOnTheDiskBeforeItHasItsNameAndItsNameBehindIt) {
  const CallLog log;
  write_file(path("a"), "text");
  EXPECT_EQ(log.calls, (std::vector{create, write, sync, rename, sync}));
  EXPECT_EQ(log.names.back(), folder_.filename().string());
}

TEST_F(FileCalls, AFolderIsOnTheDiskBeforeItHasItsNameAndItsNameBehindIt) {
  const CallLog log;
  OutputFolder out(path("a"));
  out.commit();
  EXPECT_EQ(log.calls, (std::vector{make_folder, sync, rename, sync}));
  EXPECT_EQ(log.names[1], fs::path(out.partial()).filename().string());
  EXPECT_EQ(log.names[3], folder_.filename().string());
}

TEST_F(FileCalls, AnyThatFailsIsAnErrorThatNamesTheFileAndLeavesNothing) {
  for (const FileCall call : {create, write, sync, rename}) {
    const CallLog log(call, EIO);
    try {
      write_file(path("a"), "text");
      ADD_FAILURE() << static_cast<int>(call);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_TRUE(std::string(error.what()).starts_with(path("a") + ": cannot ")) << error.what();
    }
    EXPECT_TRUE(is_empty());
  }
  for (const FileCall call : {make_folder, sync, rename}) {
    const CallLog log(call, EIO);
    try {
      OutputFolder out(path("a"));
      out.commit();
      ADD_FAILURE() << static_cast<int>(call);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(FileCalls, ANameThatCannotBeSyncedIsAnError) {
  const CallLog log(sync, EIO, 2);
  EXPECT_THROW(write_file(path("a"), "text"), Error);
  EXPECT_TRUE(file_exists(path("a")));  // it is whole, and may be gone after a loss of power
}

TEST_F(FileCalls, ATreeIsRemovedWithoutFollowingLinks) {
  write_file(path("kept"), "text");
  ASSERT_TRUE(make_folders(path("a/b/c")));
  write_file(path("a/b/f"), "text");
  fs::create_symlink(path("kept"), path("a/b/link"));
  fs::create_directory_symlink(folder_, path("a/up"));
  EXPECT_TRUE(remove_tree(path("a")));
  EXPECT_FALSE(folder_exists(path("a")));
  EXPECT_TRUE(file_exists(path("kept")));
  EXPECT_TRUE(remove_tree(path("a")));  // nothing is there
  const CallLog log(remove, EIO);
  EXPECT_FALSE(remove_tree(path("kept")));
  EXPECT_EQ(errno, EIO);
}

TEST_F(FileCalls, FoldersAreMadeWhereTheyAreMissing) {
  const CallLog log;
  EXPECT_TRUE(make_folders(path("a/b")));
  EXPECT_TRUE(make_folders(path("a/b")));
  EXPECT_EQ(log.calls, (std::vector{make_folder, sync, make_folder, sync}));
  write_file(path("file"), "");
  EXPECT_FALSE(make_folders(path("file/b")));
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_EQ(creation_error_kind(ENOTDIR), ErrorKind::usage);
  EXPECT_EQ(creation_error_kind(ENOSPC), ErrorKind::io);
}

}  // namespace
}  // namespace hone
