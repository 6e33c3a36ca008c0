#include "text/charsmap.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/utf8.h"
#include "text/charsmap_graphemes.h"

namespace hone::text {
namespace {

std::string word(uint32_t value) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift);
  return out;
}

/// A table with the one entry `key`, made by hand: the unit of a byte lies at 256 * depth ^ byte.
std::string table(const std::string& key, const std::string& replacement) {
  std::vector<uint32_t> units(256 * (key.size() + 2));
  uint32_t at = 0;
  for (size_t depth = 1; depth <= key.size(); ++depth) {
    const auto byte = static_cast<unsigned char>(key[depth - 1]);
    units[at] |= (at ^ static_cast<uint32_t>(256 * depth)) << 10;
    at = static_cast<uint32_t>(256 * depth) ^ byte;
    units[at] = byte;
  }
  const auto leaf = static_cast<uint32_t>(256 * (key.size() + 1));
  units[at] |= (at ^ leaf) << 10 | 1U << 8;
  units[leaf] = 1U << 31;
  std::string blob = word(static_cast<uint32_t>(units.size() * 4));
  for (const uint32_t unit : units) blob += word(unit);
  return blob + replacement + '\0';
}

std::string normalize(const CharsMap& map, const std::string& text) {
  std::string out;
  size_t done = 0;
  map.normalize(text, [&](size_t begin, size_t end, std::string_view replacement) {
    EXPECT_LE(done, begin);
    EXPECT_LT(begin, end);
    out += text.substr(done, begin - done);
    out += replacement;
    done = end;
  });
  return out + text.substr(done);
}

TEST(CharsMap, ReplacesClustersAndCharacters) {
  const CharsMap a(table("a", "[A]"), "m");
  EXPECT_EQ(normalize(a, ""), "");
  EXPECT_EQ(normalize(a, "bab"), "b[A]b");
  EXPECT_EQ(normalize(a, "a\u0301b"), "[A]b") << "an entry takes the short cluster it starts";
  EXPECT_EQ(normalize(a, "a\u0301\u0301\u0301b"), "[A]\u0301\u0301\u0301b") << "not a long one";
  const CharsMap accent(table("e\u0301", "\u00e9"), "m");
  EXPECT_EQ(normalize(accent, "e\u0301e"), "\u00e9e");
  EXPECT_EQ(normalize(accent, "e\u0301\u0301"), "\u00e9");
  const CharsMap newline(table("\r\n", ""), "m");
  EXPECT_EQ(normalize(newline, "a\r\nb\r\r\n"), "ab\r");
  EXPECT_FALSE(newline.normalize("abc", [](size_t, size_t, std::string_view) {}));
  EXPECT_EQ(newline.find("\r\n"), "");
  EXPECT_EQ(newline.find("\r"), std::nullopt);
  EXPECT_EQ(newline.find(std::string_view("\0", 1)), std::nullopt);
}

TEST(CharsMap, SurvivesDamage) {
  EXPECT_THROW(CharsMap("", "m"), Error);
  EXPECT_THROW(CharsMap(word(0), "m"), Error);
  EXPECT_THROW(CharsMap(word(3) + "abc", "m"), Error);
  EXPECT_THROW(CharsMap(word(8) + word(1), "m"), Error);
  EXPECT_THROW(CharsMap(word(~3U) + word(1), "m"), Error);
  EXPECT_THROW(CharsMap(word(4) + word(1) + "\xFF", "m"), Error);
  const std::string good = table("ab", "\u00e9");
  std::mt19937 random(1);
  std::string text;
  for (int c = 1; c < 0x3000; c += 7) append_utf8(static_cast<char32_t>(c), text);
  text += "ab";
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    for (int k = 0; k < 200; ++k)
      bad[4 + random() % (bad.size() - 7)] = static_cast<char>(random());
    bad.replace(bad.size() - 3, 2, "\u00e9");
    const CharsMap map(bad, "m");
    EXPECT_TRUE(is_valid_utf8(normalize(map, text)));
  }
}

TEST(Graphemes, ClustersEnd) {
  const auto size = [](const std::string& text) { return grapheme_end(text, 0); };
  EXPECT_EQ(size("a"), 1U);
  EXPECT_EQ(size("ab"), 1U);
  EXPECT_EQ(size("\r\n"), 2U);
  EXPECT_EQ(size("\n\r"), 1U);
  EXPECT_EQ(size("a\u0301\u200db"), 6U);
  EXPECT_EQ(size("\n\u0301"), 1U);
  EXPECT_EQ(size("\u0600a"), 3U) << "a prepended sign";
  EXPECT_EQ(size("\u1100\u1161\u11a8\u1100"), 9U);
  EXPECT_EQ(size("\uac00\u11a8\u1161"), 6U);
  EXPECT_EQ(size("\uac01\u1161"), 3U);
  EXPECT_EQ(size("\u0915\u094d\u0915\u0301"), 11U) << "an Indic conjunct";
  EXPECT_EQ(size("\u0915\u0301\u0915"), 5U);
  EXPECT_EQ(size("\u00a9\u200d\u00a9"), 7U);
  EXPECT_EQ(size("\u00a9\u0903\u200d\u00a9"), 8U);
}

}  // namespace
}  // namespace hone::text
