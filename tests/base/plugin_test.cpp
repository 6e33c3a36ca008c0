#include "base/plugin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hone {
namespace {

namespace fs = std::filesystem;

class Plugin : public testing::Test {
 protected:
  Plugin() : root_(fs::temp_directory_path() / ("hone-plugin-" + std::to_string(::getpid()))) {
    fs::create_directories(root_ / "bin");
  }
  ~Plugin() override { fs::remove_all(root_); }

  std::string put(const std::string& place) const {
    const fs::path file = (root_ / place / "libx.so").lexically_normal();
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "x";
    return file.string();
  }
  std::string found() const { return find_plugin((root_ / "bin").string(), "libx.so"); }

  fs::path root_;
};

TEST_F(Plugin, LiesBesideItsUserOrInAFolderOfHone) {
  EXPECT_EQ(found(), "");
  const std::string installed = put(std::string("bin/") + kLibrariesFromPrograms + "/hone");
  EXPECT_EQ(found(), installed);
  const std::string of_library = put("bin/hone");
  EXPECT_EQ(found(), of_library);
  const std::string beside = put("bin");
  EXPECT_EQ(found(), beside);
}

TEST_F(Plugin, IsWhatTheVariableNames) {
  ASSERT_EQ(::setenv("HONE_TEST_PLUGIN", "/somewhere/liby.so", 1), 0);
  EXPECT_EQ(plugin_path("HONE_TEST_PLUGIN", "libx.so"), "/somewhere/liby.so");
  ASSERT_EQ(::unsetenv("HONE_TEST_PLUGIN"), 0);
  EXPECT_EQ(plugin_path("HONE_TEST_PLUGIN", "libx.so"), "libx.so") << "for the system to look for";
}

}  // namespace
}  // namespace hone
