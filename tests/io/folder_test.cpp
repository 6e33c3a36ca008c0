#include "io/folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "scratch.h"

namespace hone::io {
namespace {

/// The variables that say where the cache is, unset for the test and restored after it.
class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      if (value) before_[name] = value;
      unsetenv(name);
    }
    setenv("HOME", scratch_.path().c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  void add(const std::string& cache, const std::string& repository, const std::string& revision) {
    std::filesystem::create_directories(scratch_ /
                                        (cache + "/" + repository + "/snapshots/" + revision));
  }

  static constexpr const char* kNames[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME",
                                           "XDG_CACHE_HOME", "HOME"};
  Scratch scratch_;
  std::map<std::string, std::string> before_;
};

TEST_F(ModelFolder, AFolderIsItself) { EXPECT_EQ(resolve_model(scratch_.path()), scratch_.path()); }

TEST_F(ModelFolder, TheRevisionOfMain) {
  const std::string repository = ".cache/huggingface/hub/models--org--name";
  add(".cache/huggingface/hub", "models--org--name", "abc");
  add(".cache/huggingface/hub", "models--org--name", "def");
  EXPECT_THROW(resolve_model("org/name"), Error);  // two snapshots and no ref
  scratch_.write(repository + "/refs/main", "def\n");
  EXPECT_EQ(resolve_model("org/name"), scratch_ / (repository + "/snapshots/def"));
  scratch_.write(repository + "/refs/main", "gone");
  EXPECT_THROW(resolve_model("org/name"), Error);
  for (const char* revision : {"../../../x", "..", ""}) {
    scratch_.write(repository + "/refs/main", revision);
    EXPECT_NE(error_of([] { resolve_model("org/name"); }).find("not a revision"),
              std::string::npos);
  }
}

TEST_F(ModelFolder, TheOnlySnapshot) {
  add("hub", "models--name", "abc");
  setenv("HF_HUB_CACHE", (scratch_ / "hub").c_str(), 1);
  EXPECT_EQ(resolve_model("name"), scratch_ / "hub/models--name/snapshots/abc");
}

TEST_F(ModelFolder, CachesInOrder) {
  add(".cache/huggingface/hub", "models--name", "home");
  EXPECT_TRUE(resolve_model("name").ends_with("/home"));
  add("xdg/huggingface/hub", "models--name", "xdg");
  setenv("XDG_CACHE_HOME", (scratch_ / "xdg").c_str(), 1);
  EXPECT_TRUE(resolve_model("name").ends_with("/xdg"));
  add("hf/hub", "models--name", "hf");
  setenv("HF_HOME", (scratch_ / "hf").c_str(), 1);
  EXPECT_TRUE(resolve_model("name").ends_with("/hf"));
  add("cache", "models--name", "cache");
  setenv("HF_HUB_CACHE", (scratch_ / "cache").c_str(), 1);
  EXPECT_TRUE(resolve_model("name").ends_with("/cache"));
}

TEST_F(ModelFolder, AnErrorSaysWhereItLooked) {
  setenv("HF_HOME", "/somewhere", 1);
  const std::string message = error_of([] { resolve_model("org/name"); });
  EXPECT_NE(message.find("'org/name' not found"), std::string::npos) << message;
  EXPECT_NE(message.find("/somewhere/hub/models--org--name"), std::string::npos) << message;
  EXPECT_NE(message.find(scratch_ / ".cache/huggingface/hub/models--org--name"), std::string::npos);
}

TEST_F(ModelFolder, NamesCannotClimb) {
  for (const char* name : {"../x", "/no/such", "a/b/c", "a..b/c", "", "x y", "a/"}) {
    EXPECT_NE(error_of([&] { resolve_model(name); }).find("no folder"), std::string::npos) << name;
  }
  const std::string file = scratch_.write("weights.txt", "");
  EXPECT_NE(error_of([&] { resolve_model(file); }).find("is a file"), std::string::npos);
  const std::string weights = scratch_.write("weights.pth", "");
  EXPECT_EQ(resolve_model(weights), weights);
}

}  // namespace
}  // namespace hone::io
