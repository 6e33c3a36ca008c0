#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/model.h"

namespace hone::text {

/// A thread's memory of words it has tokenised: direct-mapped, one cache line a word, a newer word
/// takes the place of an older one. Holds words of up to 23 bytes whose pieces (at most 8) cover
/// them without gaps.
class PieceCache {
 public:
  /// A word as the cache compares it: 23 bytes, then length and the kind of word.
  struct Key {
    std::array<uint64_t, 3> words;
  };
  static constexpr size_t max_bytes = 23;

  PieceCache() : slots_(slot_count) {}

  /// `word` has at most max_bytes bytes. Words of two kinds are never equal.
  static Key key_of(std::string_view word, bool kind) {
    Key key;
    const size_t n = word.size();
    const char* p = word.data();
    if (n < 8) {
      key.words = {load(p, n), 0, 0};
    } else if (n < 16) {
      key.words = {load(p, 8), n == 8 ? 0 : load(p + n - 8, 8) >> (16 - n) * 8, 0};
    } else {
      key.words = {load(p, 8), load(p + 8, 8), n == 16 ? 0 : load(p + n - 8, 8) >> (24 - n) * 8};
    }
    key.words[2] |= static_cast<uint64_t>(n | (kind ? 128u : 0u)) << 56;
    return key;
  }

  /// Appends the pieces of `key`, if it is known.
  bool find(const Key& key, std::vector<Piece>& out) const {
    const Slot& slot = slots_[index(key)];
    if (slot.key.words != key.words) return false;
    const uint32_t size = key.words[2] >> 56 & 127;
    uint32_t begin = 0;
    for (size_t i = 0; begin < size; ++i) {
      out.push_back({slot.ids[i], begin, slot.ends[i]});
      begin = slot.ends[i];
    }
    return true;
  }

  /// Remembers pieces `first`..`last` of `key`'s word, if they fit.
  void insert(const Key& key, const Piece* first, const Piece* last) {
    const uint32_t size = key.words[2] >> 56 & 127;
    const auto count = static_cast<size_t>(last - first);
    if (count == 0 || count > max_pieces || last[-1].end != size) return;
    uint32_t begin = 0;
    for (const Piece* piece = first; piece != last; ++piece) {
      if (piece->begin != begin || piece->end <= begin) return;
      begin = piece->end;
    }
    Slot& slot = slots_[index(key)];
    slot.key = key;
    for (size_t i = 0; i < count; ++i) {
      slot.ids[i] = first[i].id;
      slot.ends[i] = static_cast<uint8_t>(first[i].end);
    }
  }

 private:
  static constexpr size_t max_pieces = 8;
  static constexpr int slot_bits = 14;  // 1 MiB: the words of a large corpus that come often
  static constexpr size_t slot_count = size_t{1} << slot_bits;

  struct alignas(64) Slot {
    Key key{};
    std::array<int32_t, max_pieces> ids;
    std::array<uint8_t, max_pieces> ends;
  };

  /// The first n <= 8 bytes at p, little end first.
  static uint64_t load(const char* p, size_t n) {
    uint64_t value = 0;
    if (n == 8) {
      std::memcpy(&value, p, 8);
    } else if (n >= 4) {
      uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + n - 4, 4);
      value = low | static_cast<uint64_t>(high) << (n - 4) * 8;
    } else if (n > 0) {
      const auto byte = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])}; };
      value = byte(0) | byte(n / 2) << n / 2 * 8 | byte(n - 1) << (n - 1) * 8;
    }
    return value;
  }

  static size_t index(const Key& key) {
    uint64_t hash = key.words[0] * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ key.words[1]) * 0xD6E8FEB86659FD93u;
    hash = (hash ^ hash >> 32 ^ key.words[2]) * 0x9E3779B97F4A7C15u;
    return static_cast<size_t>(hash >> (64 - slot_bits));
  }

  std::vector<Slot> slots_;
};

}  // namespace hone::text
