#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "models/config.h"

/// The folders in goldens/, which tests/parity/models_goldens.py makes.
namespace hone::models {

inline std::vector<std::string> golden_folders() {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_TEST_DIR "/goldens")) {
    folders.push_back(entry.path().filename().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

struct Sample {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;
  Json expected;
};

struct Golden {
  std::string folder;
  Json json;
  EncoderConfig config;
  std::vector<Sample> samples;

  explicit Golden(const std::string& name) : folder(std::string(HONE_TEST_DIR "/goldens/") + name) {
    const auto load = [&](const char* file) {
      return parse_json(read_file(folder + "/" + file), file);
    };
    json = load("goldens.json");
    config = read_config(load("config.json"), "config.json");
    for (const Json& row : json.at("inputs")) {
      samples.push_back({row.at("ids"), row.value("type_ids", std::vector<int32_t>()), row});
    }
  }
};

/// A test's name for a folder.
inline std::string golden_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace hone::models
