#include "text/added_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"

namespace hone::text {
namespace {

char32_t last_char(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return decode_utf8(text, at).code;
}

bool is_word_before(std::string_view text, size_t at) {
  return at > 0 && Unicode::tables().is(last_char(text.substr(0, at)), kWord);
}

bool is_word_at(std::string_view text, size_t at) {
  return at < text.size() && Unicode::tables().is(decode_utf8(text, at).code, kWord);
}

size_t skip_space_back(std::string_view text, size_t at) {
  while (at > 0 && Unicode::tables().is(last_char(text.substr(0, at)), kWhitespace)) {
    do --at;
    while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  }
  return at;
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text, at);
    if (!Unicode::tables().is(c.code, kWhitespace)) break;
    at += c.size;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, const Model& model,
                         const Normalizer* normalizer, const std::string& file) {
  const int32_t model_size = static_cast<int32_t>(model.size());
  int32_t highest = -1;
  std::vector<const AddedToken*> order;
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    int32_t id = id_of(token.content);
    const bool again = id >= 0;
    if (!again) id = model.id_of(token.content);
    if (id < 0) id = std::max(highest + 1, model_size);
    highest = std::max(highest, id);
    ids_[token.content] = id;
    tokens_[id] = token;
    if (!again) order.push_back(&token);
  }
  std::stable_partition(order.begin(), order.end(),
                        [](const AddedToken* token) { return token->special; });
  AlignedText text;
  AlignedText spare;
  for (const AddedToken* first : order) {
    const int32_t id = ids_[first->content];
    const AddedToken& token = tokens_[id];
    if (!token.normalized) {
      raw_.patterns.push_back({token.content, id});
      continue;
    }
    text.assign(token.content, 0);
    if (normalizer) normalizer->apply(text, spare);
    if (text.text().empty()) {
      fail(ErrorKind::unsupported, "{}: added_tokens: {} is empty once normalised", file,
           quote(token.content));
    }
    normalized_.patterns.push_back({std::string(text.text()), id});
  }
  sort(raw_);
  sort(normalized_);
}

void AddedTokens::sort(Set& set) {
  std::stable_sort(set.patterns.begin(), set.patterns.end(),
                   [](const Pattern& a, const Pattern& b) {
                     const auto first_a = static_cast<unsigned char>(a.text[0]);
                     const auto first_b = static_cast<unsigned char>(b.text[0]);
                     return first_a != first_b ? first_a < first_b : a.text.size() > b.text.size();
                   });
  for (const Pattern& pattern : set.patterns) {
    ++set.first[static_cast<unsigned char>(pattern.text[0]) + 1];
  }
  for (size_t b = 0; b < 256; ++b) set.first[b + 1] += set.first[b];
}

const AddedTokens::Pattern* AddedTokens::longest_at(const Set& set, std::string_view text,
                                                    size_t at) const {
  const auto byte = static_cast<unsigned char>(text[at]);
  for (uint32_t i = set.first[byte]; i < set.first[byte + 1]; ++i) {
    if (text.compare(at, set.patterns[i].text.size(), set.patterns[i].text) == 0) {
      return &set.patterns[i];
    }
  }
  return nullptr;
}

void AddedTokens::find(const Set& set, std::string_view text, std::vector<Match>& out) const {
  out.clear();
  size_t done = 0;
  const auto add = [&](int32_t id, size_t begin, size_t end) {
    out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  };
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const Pattern* pattern =
        set.first[byte] == set.first[byte + 1] ? nullptr : longest_at(set, text, at);
    if (!pattern) {
      ++at;
      continue;
    }
    size_t begin = at;
    size_t end = at + pattern->text.size();
    at = end;
    const AddedToken& token = tokens_.at(pattern->id);
    if (token.single_word && (is_word_before(text, begin) || is_word_at(text, end))) continue;
    if (token.lstrip) begin = std::max(skip_space_back(text, begin), done);
    if (token.rstrip) end = skip_space(text, end);
    begin = std::min(begin, end);
    if (done < begin) add(-1, done, begin);
    add(pattern->id, begin, end);
    done = end;
  }
  if (done != text.size()) add(-1, done, text.size());
}

int32_t AddedTokens::id_of(std::string_view content) const {
  const auto it = ids_.find(std::string(content));
  return it == ids_.end() ? -1 : it->second;
}

std::string_view AddedTokens::token_of(int32_t id) const {
  const auto it = tokens_.find(id);
  return it == tokens_.end() ? std::string_view() : std::string_view(it->second.content);
}

bool AddedTokens::is_special(int32_t id) const {
  const auto it = tokens_.find(id);
  return it != tokens_.end() && it->second.special;
}

int32_t AddedTokens::id_end() const {
  int32_t end = 0;
  for (const auto& [id, token] : tokens_) end = std::max(end, id + 1);
  return end;
}

}  // namespace hone::text
