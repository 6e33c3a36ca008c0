#pragma once

#include <string>
#include <vector>

namespace hone::prep {

/// Gives the words of "english" (text::english_stop_words()), "none", or a file with one word a
/// line.
std::vector<std::string> stop_words(const std::string& name);

}  // namespace hone::prep
