#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "train/run.h"

namespace hone::train {

/// Gives "12.3 MB".
std::string megabytes(uint64_t bytes);

/// Gives all of a summary, as all_results.json has it.
Json to_json(const Summary& summary);

/// Writes Trainer's files of results: all_results.json, train_results.json, eval_results.json.
void write_results(const std::string& folder, const Summary& summary);

}  // namespace hone::train
