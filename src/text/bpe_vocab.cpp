#include "text/bpe_vocab.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "base/error.h"

namespace hone::text {

BpeVocab::BpeVocab(const std::vector<std::pair<std::string, int32_t>>& vocab,
                   const std::string& file) {
  size_t bytes = 0;
  for (const auto& [token, id] : vocab) bytes += token.size();
  if (bytes > UINT32_MAX || vocab.size() > INT32_MAX) {
    fail(ErrorKind::bad_file, "{}: vocab: too large, got {} tokens of {} bytes", file, vocab.size(),
         bytes);
  }
  bytes_.reserve(bytes);
  entries_.reserve(vocab.size());
  for (const auto& [token, id] : vocab) {
    if (id < 0) {
      fail(ErrorKind::bad_file, "{}: vocab: the id of {} is negative, got {}", file, quote(token),
           id);
    }
    const auto begin = static_cast<uint32_t>(bytes_.size());
    bytes_ += token;
    entries_.push_back({id, begin, static_cast<uint32_t>(bytes_.size())});
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  slots_.assign(std::bit_ceil(entries_.size() * 2 + 1), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view token = text(entries_[i]);
    if (i > 0 && entries_[i].id == entries_[i - 1].id) {
      fail(ErrorKind::bad_file, "{}: vocab: {} and {} have one id, got {}", file,
           quote(text(entries_[i - 1])), quote(token), entries_[i].id);
    }
    size_t at = std::hash<std::string_view>()(token) & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      if (text(entries_[slots_[at] - 1]) == token) {
        fail(ErrorKind::bad_file, "{}: vocab: a token comes twice, got {}", file, quote(token));
      }
    }
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

int32_t BpeVocab::id_of(std::string_view token) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = std::hash<std::string_view>()(token) & mask; slots_[at] != 0;
       at = (at + 1) & mask) {
    const Entry& entry = entries_[slots_[at] - 1];
    if (text(entry) == token) return entry.id;
  }
  return -1;
}

std::string_view BpeVocab::token_of(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (id >= 0 && index < entries_.size() && entries_[index].id == id) return text(entries_[index]);
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                      [](const Entry& e, int32_t value) { return e.id < value; });
  return found != entries_.end() && found->id == id ? text(*found) : std::string_view();
}

}  // namespace hone::text
