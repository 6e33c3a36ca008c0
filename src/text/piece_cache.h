#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/model.h"

namespace hone::text {

/// A thread's memory of words it has tokenised: 1 MiB in sets of four, where a new word takes the
/// place of an old one in turn. Holds words of up to 15 bytes whose pieces (at most 3) cover them
/// without gaps; rarer ones are cheaper to tokenise again than to keep.
class PieceCache {
 public:
  /// A word as the cache compares it: 15 bytes, then length and kind.
  using Key = std::array<uint64_t, 2>;
  static constexpr size_t max_bytes = 15;

  PieceCache() : tags_(set_count), slots_(set_count * ways) {}

  /// `word` has at most max_bytes bytes. Words of two kinds are never equal.
  static Key key_of(std::string_view word, bool kind) {
    const size_t n = word.size();
    const char* p = word.data();
    Key key{};
    if (n < 8) {
      key[0] = load_short(p, n);
    } else {
      key[0] = load(p);
      if (n > 8) key[1] = load(p + n - 8) >> (16 - n) * 8;
    }
    key[1] |= static_cast<uint64_t>(n | (kind ? 128U : 0U)) << 56;
    return key;
  }

  /// Appends the pieces of `word`: the known ones, or what `tokenize` appends, which is remembered.
  /// `kind` is that of key_of().
  template <typename Tokenize>
  void recall(std::string_view word, bool kind, std::vector<Piece>& out, const Tokenize& tokenize) {
    if (word.size() > max_bytes) return tokenize();
    const Key key = key_of(word, kind);
    if (find(key, out)) return;
    const size_t first = out.size();
    tokenize();
    insert(key, out.data() + first, out.data() + out.size());
  }

  /// Appends the pieces of `key`, if it is known.
  bool find(const Key& key, std::vector<Piece>& out) const {
    const uint64_t hash = hash_of(key);
    const size_t set = set_of(hash);
    // A 16-bit lane of `different` is zero where the tag matches; the lowest lane found is exact.
    constexpr uint64_t ones = 0x0001000100010001;
    const uint64_t different = tags_[set] ^ (hash & 0xFFFF) * ones;
    for (uint64_t zeros = (different - ones) & ~different & ones << 15; zeros != 0;
         zeros &= zeros - 1) {
      const Slot& slot = slots_[set * ways + static_cast<size_t>(std::countr_zero(zeros)) / 16];
      if (slot.key[0] != key[0] || slot.key[1] != key[1]) continue;
      const uint32_t size = size_of(key);
      uint32_t begin = 0;
      for (size_t i = 0; begin < size; ++i) {
        out.push_back({slot.ids[i], begin, slot.ends[i]});
        begin = slot.ends[i];
      }
      return true;
    }
    return false;
  }

  /// Remembers pieces `first`..`last` of `key`'s word, if they fit.
  void insert(const Key& key, const Piece* first, const Piece* last) {
    const auto count = static_cast<size_t>(last - first);
    if (count == 0 || count > max_pieces || last[-1].end != size_of(key)) return;
    uint32_t begin = 0;
    for (const Piece* piece = first; piece != last; ++piece) {
      if (piece->begin != begin || piece->end <= begin) return;
      begin = piece->end;
    }
    const uint64_t hash = hash_of(key);
    const size_t set = set_of(hash);
    const size_t way = turn_++ % ways;
    uint64_t& tags = tags_[set];
    tags = (tags & ~(uint64_t{0xFFFF} << way * 16)) | (hash & 0xFFFF) << way * 16;
    Slot& slot = slots_[set * ways + way];
    slot.key = key;
    for (size_t i = 0; i < count; ++i) {
      slot.ids[i] = first[i].id;
      slot.ends[i] = static_cast<uint8_t>(first[i].end);
    }
  }

 private:
  static constexpr size_t max_pieces = 3;
  static constexpr size_t ways = 4;
  static constexpr int set_bits = 13;
  static constexpr size_t set_count = size_t{1} << set_bits;

  struct Slot {
    Key key{};
    std::array<int32_t, max_pieces> ids;
    std::array<uint8_t, max_pieces> ends;
  };

  static uint64_t load(const char* p) {
    uint64_t value;
    std::memcpy(&value, p, 8);
    return value;
  }
  /// Loads n < 8 bytes at p; the rest is zero.
  static uint64_t load_short(const char* p, size_t n) {
    if (n >= 4) {
      uint32_t low, high;
      std::memcpy(&low, p, 4);
      std::memcpy(&high, p + n - 4, 4);
      return low | static_cast<uint64_t>(high) << (n - 4) * 8;
    }
    if (n == 0) return 0;
    const auto byte = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])}; };
    return byte(0) | byte(n / 2) << n / 2 * 8 | byte(n - 1) << (n - 1) * 8;
  }

  static uint64_t hash_of(const Key& key) {
    const uint64_t mixed = key[0] * 0x9E3779B97F4A7C15U ^ key[1] * 0xD6E8FEB86659FD93U;
    return (mixed ^ mixed >> 32) * 0xC2B2AE3D27D4EB4FU;
  }
  static size_t set_of(uint64_t hash) { return static_cast<size_t>(hash >> (64 - set_bits)); }
  static uint32_t size_of(const Key& key) { return static_cast<uint32_t>(key[1] >> 56 & 127); }

  std::vector<uint64_t> tags_;  ///< 16 bits of the hash for each way of a set
  std::vector<Slot> slots_;
  size_t turn_ = 0;
};

}  // namespace hone::text
