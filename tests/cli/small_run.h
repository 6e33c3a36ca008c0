#pragma once

#include <string>

#include "base/file.h"
#include "cli/program.h"

namespace hone::cli {

/// Arguments for twenty steps of the built-in model, a checkpoint behind each.
inline Words small_run(const std::string& output, const Words& more = {}) {
  Words words = {"train",  "--output_dir",    output,  "--max_train_samples",
                 "80",     "--max_steps",     "20",    "--per_device_train_batch_size",
                 "4",      "--save_strategy", "steps", "--save_steps",
                 "1",      "--threads",       "2",     "--max_eval_samples",
                 "20",     "--eval_strategy", "no",    "--quiet",
                 "--json", "--seed",          "5"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::string trained_weights(const std::string& folder) {
  return read_file(folder + "/model.safetensors");
}

}  // namespace hone::cli
