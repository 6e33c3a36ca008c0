#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone::prep {

struct WordHash {
  using is_transparent = void;
  size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
};

template <typename Value>
using WordMap = std::unordered_map<std::string, Value, WordHash, std::equal_to<>>;

/// Numbers of words. A word of up to 16 bytes is two registers: it is hashed and compared without
/// a loop, in one slot of an open table. Longer ones are rare.
class WordTable {
 public:
  static constexpr uint32_t kAbsent = ~0u;
  /// find() reads so many bytes from a word's begin on.
  static constexpr size_t kShort = 16;

  /// Makes room for `words` words.
  explicit WordTable(size_t words) {
    while (slots_.size() < words * 2) {
      slots_.resize(slots_.size() * 2);
      --shift_;
    }
  }

  /// Adds a word that is not there, without zero bytes.
  void add(std::string_view word, uint32_t value) {
    if (word.size() > kShort) {
      long_.emplace(word, value);
      return;
    }
    std::array<char, kShort> padded{};
    std::copy(word.begin(), word.end(), padded.begin());
    const Key key = key_of(padded.data(), word.size());
    size_t at = place(key);
    while (slots_[at].key.low != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, value};
  }

  /// Gives a word's number or kAbsent.
  uint32_t find(const char* word, size_t size) const {
    if (size > kShort) [[unlikely]] {
      const auto found = long_.find(std::string_view(word, size));
      return found == long_.end() ? kAbsent : found->second;
    }
    const Key key = key_of(word, size);
    for (size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.key.low == key.low && slot.key.high == key.high) return slot.value;
      if (slot.key.low == 0) return kAbsent;
    }
  }

 private:
  struct Key {
    uint64_t low = 0;  ///< 0 in an empty slot
    uint64_t high = 0;
  };
  struct Slot {
    Key key;
    uint32_t value = kAbsent;
  };

  static uint64_t load(const char* from) {
    uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    return word;
  }
  static Key key_of(const char* word, size_t size) {
    const uint64_t low = load(word);
    const uint64_t high = load(word + 8);
    // A shift by 64 is none: the two cases of each half are told apart.
    if (size >= 8) {
      return {low, size == 8 ? 0 : high & (~uint64_t{0} >> (128 - size * 8))};
    }
    return {low & (~uint64_t{0} >> (64 - size * 8)), 0};
  }
  size_t place(const Key& key) const {
    const uint64_t mixed = (key.low ^ (key.high * 0x9e3779b97f4a7c15)) * 0xd6e8feb86659fd93;
    return (mixed ^ (mixed >> 29)) * 0x9e3779b97f4a7c15 >> shift_;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(2);
  int shift_ = 63;
  WordMap<uint32_t> long_;
};

}  // namespace hone::prep
