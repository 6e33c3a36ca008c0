#include "text/byte_level.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/utf8.h"

namespace hone::text {
namespace {

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words words;
  ByteLevelSplitter splitter(text);
  for (std::string_view word = splitter.next(); !word.empty(); word = splitter.next()) {
    words.emplace_back(word);
  }
  return words;
}

TEST(ByteLevel, SplitsAsGpt2Does) {
  EXPECT_EQ(split(""), Words());
  EXPECT_EQ(split("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(split("it's I'll we've 'tis"),
            (Words{"it", "'s", " I", "'ll", " we", "'ve", " '", "tis"}));
  EXPECT_EQ(split("'S''s'"), (Words{"'", "S", "''", "s", "'"}));
  EXPECT_EQ(split("a  b"), (Words{"a", " ", " b"}));
  EXPECT_EQ(split("a \n b \n"), (Words{"a", " \n", " b", " \n"}));
  EXPECT_EQ(split("a\nb"), (Words{"a", "\n", "b"}));
  EXPECT_EQ(split("a\n\nb"), (Words{"a", "\n", "\n", "b"}));
  EXPECT_EQ(split("a\u00a0b\u3000\u3000c"), (Words{"a", "\u00a0", "b", "\u3000", "\u3000", "c"}));
  EXPECT_EQ(split("x12\u0663½y!? ..."), (Words{"x", "12\u0663½", "y", "!?", " ..."}));
  EXPECT_EQ(split("e\u0301"), (Words{"e", "\u0301"}));
  EXPECT_EQ(split(" "), (Words{" "}));
  EXPECT_EQ(split("  "), (Words{"  "}));
  EXPECT_EQ(split("'"), (Words{"'"}));
  EXPECT_EQ(split("'r"), (Words{"'", "r"}));
}

TEST(ByteLevel, AlphabetIsOneToOne) {
  std::set<char32_t> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t code = byte_level_alphabet()[static_cast<size_t>(byte)];
    EXPECT_TRUE(seen.insert(code).second);
    EXPECT_EQ(byte_level_byte(code), byte);
  }
  EXPECT_EQ(byte_level_byte(' '), -1);
  EXPECT_EQ(byte_level_byte(0x144), -1);
  EXPECT_EQ(byte_level_byte(0x10FFFF), -1);
  std::string out;
  append_byte_level(" a\n\u00e9", out);
  EXPECT_EQ(out, "\u0120a\u010a\u00c3\u00a9");
}

TEST(ByteLevel, TrimsOffsets) {
  const auto trim = [](std::string_view token, bool first, bool prefix, uint32_t begin,
                       uint32_t end) {
    trim_offsets(edge_space(token), first, prefix, begin, end);
    return std::pair(begin, end);
  };
  EXPECT_EQ(trim("\u0120a", false, false, 4, 6), std::pair(5U, 6U));
  EXPECT_EQ(trim("\u0120a", true, true, 0, 1), std::pair(0U, 1U));
  EXPECT_EQ(trim("\u0120\u0120a", true, true, 0, 3), std::pair(2U, 3U));
  EXPECT_EQ(trim("\u0120a", false, true, 0, 1), std::pair(0U, 1U)) << "a pretokenized word";
  EXPECT_EQ(trim("a\u0120 ", false, false, 4, 7), std::pair(4U, 5U));
  EXPECT_EQ(trim("\u0120\u0120", false, false, 4, 6), std::pair(6U, 6U));
  EXPECT_EQ(trim("a\u3000", false, false, 0, 2), std::pair(0U, 1U));
  EXPECT_EQ(trim("ab", false, true, 0, 2), std::pair(0U, 2U));
}

}  // namespace
}  // namespace hone::text
