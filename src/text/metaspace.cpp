#include "text/metaspace.h"

#include "base/utf8.h"

namespace hone::text {

bool Metaspace::rewrite(std::string_view text, bool at_start, Edit edit) const {
  if (text.empty()) return false;
  bool changed = false;
  const bool marked = text.front() == ' ' || text.starts_with(replacement);
  if (!marked && (prepend == Prepend::always || (prepend == Prepend::first && at_start))) {
    const size_t size = decode_utf8(text, 0).size;
    edit(0, size, replacement + std::string(text.substr(0, size)));
    changed = true;
  }
  for (size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
    edit(at, at + 1, replacement);
    changed = true;
  }
  return changed;
}

void Metaspace::cut(std::string_view rewritten,
                    std::vector<std::pair<uint32_t, uint32_t>>& words) const {
  for (size_t at = 0; at < rewritten.size();) {
    size_t end = split ? rewritten.find(replacement, at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) end = rewritten.size();
    words.emplace_back(static_cast<uint32_t>(at), static_cast<uint32_t>(end));
    at = end;
  }
}

}  // namespace hone::text
