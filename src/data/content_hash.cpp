#include "data/content_hash.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/file.h"

namespace hone::data {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kC1 = 0x87c37b91114253d5;
constexpr uint64_t kC2 = 0x4cf5ad432745937f;

uint64_t word_at(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t mix1(uint64_t k) { return std::rotl(k * kC1, 31) * kC2; }
uint64_t mix2(uint64_t k) { return std::rotl(k * kC2, 33) * kC1; }

uint64_t finish(uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccd;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

}  // namespace

void ContentHash::block(uint64_t k1, uint64_t k2) {
  h1_ = (std::rotl(h1_ ^ mix1(k1), 27) + h2_) * 5 + 0x52dce729;
  h2_ = (std::rotl(h2_ ^ mix2(k2), 31) + h1_) * 5 + 0x38495ab5;
}

void ContentHash::bytes(const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  const size_t held = length_ % tail_.size();
  length_ += size;
  if (held > 0) {
    const size_t taken = std::min(size, tail_.size() - held);
    std::copy_n(at, taken, tail_.data() + held);
    at += taken;
    size -= taken;
    if (held + taken < tail_.size()) return;
    block(word_at(tail_.data()), word_at(tail_.data() + 8));
  }
  for (; size >= tail_.size(); size -= tail_.size(), at += tail_.size()) {
    block(word_at(at), word_at(at + 8));
  }
  std::copy_n(at, size, tail_.data());
}

void ContentHash::text(std::string_view text) {
  number(text.size());
  bytes(text.data(), text.size());
}

void ContentHash::number(uint64_t value) { bytes(&value, sizeof value); }

void ContentHash::file(const std::string& path) {
  const InputFile file(path);
  number(file.size());
  std::vector<char> buffer(std::min<uint64_t>(file.size(), 1 << 20));
  for (uint64_t at = 0; at < file.size(); at += buffer.size()) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(buffer.size(), file.size() - at));
    file.read(at, buffer.data(), size);
    bytes(buffer.data(), size);
  }
}

Hash128 ContentHash::value() const {
  std::array<char, 16> rest{};
  std::copy_n(tail_.data(), length_ % rest.size(), rest.data());
  uint64_t h1 = h1_ ^ mix1(word_at(rest.data()));
  uint64_t h2 = h2_ ^ mix2(word_at(rest.data() + 8));
  h1 ^= length_;
  h2 ^= length_;
  h1 += h2;
  h2 += h1;
  h1 = finish(h1);
  h2 = finish(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

std::string hex(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash[0], hash[1]); }

}  // namespace hone::data
