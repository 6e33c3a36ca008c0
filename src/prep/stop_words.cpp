#include "prep/stop_words.h"

#include "data/line_reader.h"
#include "text/stop_words.h"

namespace hone::prep {

std::vector<std::string> stop_words(const std::string& name) {
  std::vector<std::string> words;
  if (name == "none") return words;
  if (name == "english") {
    const auto english = text::english_stop_words();
    return {english.begin(), english.end()};
  }
  data::LineReader lines(data::open_bytes(name), name);
  for (std::string_view line; lines.next(line);) {
    if (!line.empty()) words.emplace_back(line);
  }
  return words;
}

}  // namespace hone::prep
