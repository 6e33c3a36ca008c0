#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hone {

/// A text, or a pair of texts that are judged together. The encoding is UTF-8; what is not is read
/// as U+FFFD.
struct Text {
  Text(std::string text_in) : text(std::move(text_in)) {}
  Text(const char* text_in) : text(text_in) {}
  Text(std::string text_in, std::string pair_in)
      : text(std::move(text_in)), pair(std::move(pair_in)) {}

  std::string text;
  std::optional<std::string> pair;
};

/// The tokens of a text, as Hugging Face's `tokenizers` gives them.
struct Tokens {
  std::vector<int32_t> ids;
  std::vector<std::string> tokens;
  /// Code points of the text that each token comes from: begin, end.
  std::vector<std::pair<uint32_t, uint32_t>> offsets;
  std::vector<int32_t> type_ids;
};

}  // namespace hone
