#include "trees/leaf.h"

#include <array>
#include <utility>

namespace hone::trees {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 6> kBrackets = {{{"-LRB-", '('},
                                                                         {"-RRB-", ')'},
                                                                         {"-LSB-", '['},
                                                                         {"-RSB-", ']'},
                                                                         {"-LCB-", '{'},
                                                                         {"-RCB-", '}'}}};

/// Gives the escape that `rest` begins with, and what it stands for; empty where there is none.
std::pair<std::string_view, char> escape_at(std::string_view rest) {
  for (const auto& bracket : kBrackets) {
    if (rest.starts_with(bracket.first)) return bracket;
  }
  if (rest.starts_with("\\/") || rest.starts_with("\\*")) return {rest.substr(0, 2), rest[1]};
  return {};
}

}  // namespace

void append_leaf(std::string_view leaf, std::string& text) {
  for (size_t at = 0; at < leaf.size();) {
    const std::pair<std::string_view, char> escape = escape_at(leaf.substr(at));
    text.push_back(escape.first.empty() ? leaf[at] : escape.second);
    at += escape.first.empty() ? 1 : escape.first.size();
  }
}

void append_escaped(std::string_view word, std::string& text) {
  for (const char c : word) {
    if (c == '(' || c == ')') {
      text += c == '(' ? "-LRB-" : "-RRB-";
    } else {
      text += c;
    }
  }
}

}  // namespace hone::trees
