#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hone::text {
namespace {

struct ClassRun {
  uint32_t first;
  uint32_t last;
  uint16_t value;
};
struct ProxyRun {
  uint32_t first;
  uint32_t last;
  uint32_t proxy;
};
struct LowercaseRun {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  int32_t delta;
};
struct Composition {
  uint32_t first;
  uint32_t second;
  uint32_t composite;
};

#include "text/unicode_tables.inc"

constexpr uint32_t kCodes = 0x110000;
constexpr uint32_t kBlock = 64;
constexpr uint32_t kCodeMask = 0xFFFFFF;

// Hangul syllables decompose and compose by arithmetic (Unicode, section 3.12).
constexpr uint32_t kSyllable = 0xAC00;
constexpr uint32_t kLead = 0x1100;
constexpr uint32_t kVowel = 0x1161;
constexpr uint32_t kTail = 0x11A7;
constexpr uint32_t kVowels = 21;
constexpr uint32_t kTails = 28;
constexpr uint32_t kSyllables = 11172;

std::vector<uint32_t> starts_of(std::span<const uint32_t> mappings) {
  std::vector<uint32_t> starts;
  for (size_t at = 0; at < mappings.size(); at += 1 + (mappings[at] >> 24)) {
    starts.push_back(static_cast<uint32_t>(at));
  }
  return starts;
}

std::span<const uint32_t> find_mapping(std::span<const uint32_t> mappings,
                                       std::span<const uint32_t> starts, uint32_t code) {
  const auto it = std::partition_point(starts.begin(), starts.end(), [&](uint32_t start) {
    return (mappings[start] & kCodeMask) < code;
  });
  if (it == starts.end() || (mappings[*it] & kCodeMask) != code) return {};
  return mappings.subspan(*it + 1, mappings[*it] >> 24);
}

template <typename Run, size_t n>
const Run* find_run(const Run (&runs)[n], uint32_t code) {
  const Run* it = std::partition_point(std::begin(runs), std::end(runs),
                                       [&](const Run& run) { return run.last < code; });
  return it == std::end(runs) || it->first > code ? nullptr : it;
}

}  // namespace

const Unicode& Unicode::tables() {
  static const Unicode tables;
  return tables;
}

Unicode::Unicode() : canonical_starts_(starts_of(kCanonical)), compat_starts_(starts_of(kCompat)) {
  index_.assign(kCodes / kBlock, 0);
  blocks_.assign(kBlock, 0);
  const ClassRun* run = std::begin(kClassRuns);
  std::array<uint16_t, kBlock> block;
  for (uint32_t i = 0; i < index_.size(); ++i) {
    const uint32_t first = i * kBlock;
    while (run != std::end(kClassRuns) && run->last < first) ++run;
    if (run == std::end(kClassRuns)) break;
    if (run->first >= first + kBlock) continue;
    block.fill(0);
    for (const ClassRun* r = run; r != std::end(kClassRuns) && r->first < first + kBlock; ++r) {
      const uint32_t from = std::max(r->first, first) - first;
      const uint32_t to = std::min(r->last, first + kBlock - 1) - first;
      std::fill(block.begin() + from, block.begin() + to + 1, r->value);
    }
    // Long scripts repeat one block many times over; it is enough to look at the last one.
    const size_t last = blocks_.size() - kBlock;
    if (!std::equal(block.begin(), block.end(), blocks_.begin() + static_cast<ptrdiff_t>(last))) {
      blocks_.insert(blocks_.end(), block.begin(), block.end());
    }
    index_[i] = static_cast<uint16_t>(blocks_.size() / kBlock - 1);
  }
}

int Unicode::combining_class(char32_t code) const {
  if (!is(code, kReorders)) return 0;
  const ClassRun* run = find_run(kCombiningRuns, code);
  return run ? run->value : 0;
}

std::span<const uint32_t> Unicode::decompose(char32_t code, bool compat,
                                             uint32_t (&memory)[3]) const {
  if (code >= kSyllable && code < kSyllable + kSyllables) {
    const uint32_t index = code - kSyllable;
    memory[0] = kLead + index / (kVowels * kTails);
    memory[1] = kVowel + index % (kVowels * kTails) / kTails;
    memory[2] = kTail + index % kTails;
    return std::span(memory, index % kTails == 0 ? 2 : 3);
  }
  if (compat) {
    const auto found = find_mapping(kCompat, compat_starts_, code);
    if (!found.empty()) return found;
  }
  return find_mapping(kCanonical, canonical_starts_, code);
}

char32_t Unicode::compose(char32_t first, char32_t second) const {
  if (first >= kLead && first < kLead + 19 && second >= kVowel && second < kVowel + kVowels) {
    return kSyllable + ((first - kLead) * kVowels + (second - kVowel)) * kTails;
  }
  if (first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTails == 0 &&
      second > kTail && second < kTail + kTails) {
    return first + (second - kTail);
  }
  const Composition* it = std::partition_point(
      std::begin(kCompositions), std::end(kCompositions),
      [&](const Composition& c) { return c.first != first ? c.first < first : c.second < second; });
  const bool found = it != std::end(kCompositions) && it->first == first && it->second == second;
  return found ? it->composite : 0;
}

std::span<const uint32_t> Unicode::lowercase(char32_t code, uint32_t (&memory)[3]) const {
  memory[0] = code;
  if (!is(code, kLowercases)) return std::span(memory, 1);
  const LowercaseRun* run = find_run(kLowercaseRuns, code);
  if (run && (code - run->first) % run->step == 0) {
    memory[0] = static_cast<uint32_t>(static_cast<int32_t>(code) + run->delta);
    return std::span(memory, 1);
  }
  const std::span<const uint32_t> mappings = kLowercaseLong;
  for (size_t at = 0; at < mappings.size(); at += 1 + (mappings[at] >> 24)) {
    if ((mappings[at] & kCodeMask) == code) return mappings.subspan(at + 1, mappings[at] >> 24);
  }
  return std::span(memory, 1);
}

char32_t Unicode::regex_proxy(char32_t code) const {
  if (!is(code, kRegexProxied)) return code;
  const ProxyRun* run = find_run(kRegexProxyRuns, code);
  return run ? run->proxy : code;
}

}  // namespace hone::text
