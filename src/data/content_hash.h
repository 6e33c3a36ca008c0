#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone::data {

using Hash128 = std::array<uint64_t, 2>;

/// A 128-bit hash of bytes that come in pieces: MurmurHash3 x64 128 (Appleby). It tells data apart
/// that changed by accident or by editing, at memory speed; SHA-256 would be 10 times slower
/// without the processor's help, and guards against nothing here: who can write a cache can write
/// the data as well.
class ContentHash {
 public:
  /// Adds bytes; how they are cut into pieces does not count.
  void bytes(const void* data, size_t size);
  /// Adds a text and its length, so that neighbouring texts cannot flow into one another.
  void text(std::string_view text);
  void number(uint64_t value);
  /// Adds the contents of a regular file, with its length.
  void file(const std::string& path);

  Hash128 value() const;

 private:
  void block(uint64_t k1, uint64_t k2);

  uint64_t h1_ = 0;
  uint64_t h2_ = 0;
  uint64_t length_ = 0;
  std::array<char, 16> tail_{};  ///< the last length_ % 16 bytes
};

/// Gives 32 hexadecimal digits.
std::string hex(const Hash128& hash);

}  // namespace hone::data
