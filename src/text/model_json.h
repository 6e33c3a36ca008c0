#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace hone::text {

/// A tokenizer.json with its large parts taken out of the tree: these are read as a stream, each
/// entry straight into its place.
struct TokenizerJson {
  Json rest;  ///< everything but model.vocab and model.merges
  std::vector<std::pair<std::string, int32_t>> vocab;  ///< model.vocab as an object
  std::vector<std::pair<std::string, double>> scored;  ///< model.vocab as a list (Unigram)
  std::vector<std::pair<std::string, std::string>> merges;
};

/// Reads a tokenizer.json, which may be hostile; errors name the file.
TokenizerJson read_tokenizer_json(const std::string& path);
TokenizerJson parse_tokenizer_json(std::string_view text, const std::string& file);

}  // namespace hone::text
