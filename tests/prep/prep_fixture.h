#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/entry_store.h"
#include "prep/prep.h"

namespace hone::prep {

/// A folder of this test's own, gone at the end.
class PrepFolder {
 public:
  PrepFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "hone-prep-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~PrepFolder() { std::filesystem::remove_all(path_); }
  PrepFolder(const PrepFolder&) = delete;
  PrepFolder& operator=(const PrepFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string put(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

class QuietObserver : public PrepObserver {
 public:
  void progress(std::string_view stage, int64_t, int64_t) override { ++stages[std::string(stage)]; }
  std::map<std::string, int64_t> stages;
};

inline std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "no error";
}

/// JSON lines of made-up reviews, some of them twice with other punctuation, a few with words that
/// no sample knows.
inline std::string made_reviews(int count, uint64_t seed = 1) {
  const std::vector<std::string> words = {"great", "film",  "The",    "awful", "plot", "and",
                                          "don't", "watch", "acting", "was",   "café", "it",
                                          "again", "dull",  "STORY",  "hero",  "Über", "a"};
  std::string lines;
  std::string text;
  for (int i = 0; i < count; ++i) {
    if (i % 5 != 4) {
      text.clear();
      for (int word = 0; word < 3 + static_cast<int>(seed >> 40 & 15); ++word) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        text += words[(seed >> 33) % words.size()] + (word % 4 == 3 ? ", " : " ");
      }
      if (i % 50 == 0) text += "rare" + std::string(1 + i % 26, static_cast<char>('a' + i % 26));
    } else {
      text += "!!";
    }
    lines += "{\"reviewerID\": \"A" + std::to_string(i) + "\", \"reviewText\": \"" + text +
             "\", \"overall\": " + std::to_string(1 + i % 5) + ".0, \"helpful\": [0, 1]}\n";
  }
  return lines;
}

/// All files of a folder by name.
inline std::map<std::string, std::string> files_of(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path().string());
  }
  return files;
}

inline PrepOptions options_for(const std::string& input, const std::string& output) {
  PrepOptions options;
  options.inputs = {input};
  options.output = output;
  options.vocabulary_size = 12;
  options.max_length = 6;
  options.part_bytes = 4096;
  return options;
}

}  // namespace hone::prep
