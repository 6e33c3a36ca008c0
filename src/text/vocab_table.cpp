#include "text/vocab_table.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace hone::text {
namespace {

// Tokens made to collide would make loading quadratic.
constexpr size_t kMaxProbes = 4096;

uint64_t hash_of(std::string_view token) {
  uint64_t hash = VocabTable::kEmptyHash;
  for (const char c : token) hash = VocabTable::extend(hash, c);
  return hash;
}

}  // namespace

VocabTable::VocabTable(const std::vector<std::pair<std::string, int32_t>>& vocab,
                       const std::string& file) {
  size_t bytes = 0;
  int32_t last = -1;
  for (const auto& [token, id] : vocab) {
    if (id < 0) fail(ErrorKind::bad_file, "{}: vocab: id of {} is {}", file, quote(token), id);
    bytes += token.size();
    last = std::max(last, id);
  }
  // Ids index tables here and rows of the embedding later: a few gaps are fine, a few tokens
  // spread over billions of ids are not.
  if (static_cast<size_t>(last + 1) > 16 * vocab.size() + 65536) {
    fail(ErrorKind::bad_file, "{}: vocab: an id of {} with only {} tokens", file, last,
         vocab.size());
  }
  bytes_.reserve(bytes);
  slots_.resize(std::bit_ceil(2 * vocab.size() + 2));
  mask_ = slots_.size() - 1;
  by_id_.assign(static_cast<size_t>(last + 1), {0, 0});
  for (const auto& [token, id] : vocab) insert(token, id, file);
}

void VocabTable::insert(const std::string& token, int32_t id, const std::string& file) {
  const uint64_t hash = hash_of(token);
  size_t at = slot_of(hash);
  for (size_t probes = 0; slots_[at].id >= 0; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (std::string_view(bytes_.data() + slot.begin, slot.size) == token) {
      fail(ErrorKind::bad_file, "{}: vocab: token {} is there twice", file, quote(token));
    }
    if (++probes > kMaxProbes) {
      fail(ErrorKind::bad_file, "{}: vocab: too many tokens that hash like {}", file, quote(token));
    }
  }
  const uint32_t begin = static_cast<uint32_t>(bytes_.size());
  const uint32_t size = static_cast<uint32_t>(token.size());
  bytes_ += token;
  slots_[at] = {static_cast<uint32_t>(hash), begin, size, id};
  by_id_[static_cast<size_t>(id)] = {begin, begin + size};
  longest_ = std::max(longest_, token.size());
  ++count_;
}

int32_t VocabTable::id_of(std::string_view token) const { return find(hash_of(token), {}, token); }

std::string_view VocabTable::token_of(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= by_id_.size()) return {};
  const Span span = by_id_[static_cast<size_t>(id)];
  return std::string_view(bytes_).substr(span.begin, span.end - span.begin);
}

}  // namespace hone::text
