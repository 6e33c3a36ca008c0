#pragma once

#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "models/encoder.h"
#include "models/init.h"
#include "models/save.h"

namespace hone::infer {

/// Writes the folder of a model with early exits and random weights: the tokenizer and the config
/// of a golden one, the latter with `changes`.
inline void write_exiting_folder(const std::string& golden, const std::string& method,
                                 const Json& changes, const std::string& to) {
  namespace fs = std::filesystem;
  const std::string from = HONE_TEST_DIR "/../models/goldens/" + golden;
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    const bool text =
        name.starts_with("tokenizer") || name.starts_with("vocab") || name.starts_with("merges");
    if (text) fs::copy_file(entry.path(), to + "/" + name);
  }
  const std::string file = from + "/config.json";
  Json config = parse_json(read_file(file), file);
  config.update(changes);
  config["early_exit"] = {{"method", method}, {"patience", 1}, {"entropy", 0.3}};
  ThreadPool pool(2);
  models::Encoder encoder(models::read_config(config, file), DType::f32, chosen_isa(), true);
  models::init_random(encoder, 3, 0.5f, pool);
  models::save_weights(encoder, to);
  models::save_config(config, encoder, to);
}

}  // namespace hone::infer
