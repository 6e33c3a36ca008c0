#include "text/special_tokens.h"

#include <algorithm>
#include <limits>

namespace hone::text {

AddedToken SpecialTokens::read(const Json& json, const std::string& path, bool normalized) const {
  const JsonFields fields(json, file_, path);
  AddedToken token;
  token.content = fields.string("content");
  token.single_word = fields.boolean("single_word", false);
  token.lstrip = fields.boolean("lstrip", false);
  token.rstrip = fields.boolean("rstrip", false);
  token.normalized = fields.boolean("normalized", normalized);
  token.special = fields.boolean("special", false);
  return token;
}

std::string SpecialTokens::add(const char* role, const char* fallback) {
  AddedToken token;
  token.content = fallback;
  token.normalized = false;
  const auto it = config_.find(role);
  if (it != config_.end() && it->is_string()) token.content = it->get<std::string>();
  if (it != config_.end() && it->is_object()) token = read(*it, role, false);
  token.special = true;
  add(token);
  return token.content;
}

void SpecialTokens::add(const AddedToken& token) {
  if (noted_.insert(token.content).second) tokens_.push_back(token);
}

void SpecialTokens::add_decoder() {
  const auto it = config_.find("added_tokens_decoder");
  if (it == config_.end() || !it->is_object()) return;
  std::vector<std::pair<int64_t, AddedToken>> listed;
  for (const auto& [id, json] : it->items()) {
    const bool number =
        !id.empty() && id.size() < 10 && id.find_first_not_of("0123456789") == std::string::npos;
    listed.emplace_back(number ? std::stoll(id) : std::numeric_limits<int64_t>::max(),
                        read(json, "added_tokens_decoder." + id, true));
  }
  std::stable_sort(listed.begin(), listed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [id, token] : listed) add(token);
}

}  // namespace hone::text
