#include "base/utf8.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Utf8, RoundTripsEveryScalarValue) {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(code, text);
    const Utf8Char c = decode_utf8(text, 0);
    ASSERT_TRUE(c.valid);
    ASSERT_EQ(c.code, code);
    ASSERT_EQ(c.size, text.size());
    ASSERT_EQ(count_code_points(text), 1);
  }
}

struct Case {
  const char* name;
  std::string bytes;
  std::string replaced;
};

class InvalidUtf8 : public testing::TestWithParam<Case> {};

TEST_P(InvalidUtf8, IsReplacedByMaximalSubparts) {
  EXPECT_FALSE(is_valid_utf8(GetParam().bytes));
  EXPECT_EQ(replace_invalid_utf8(GetParam().bytes), GetParam().replaced);
}

// Right-hand sides are what Python's bytes.decode("utf-8", "replace") gives.
INSTANTIATE_TEST_SUITE_P(
    Table, InvalidUtf8,
    testing::Values(Case{"lone_continuation", "a\x80z", "a\uFFFDz"},
                    Case{"overlong_two", "\xC0\x80", "\uFFFD\uFFFD"},
                    Case{"overlong_three", "\xE0\x80\x80", "\uFFFD\uFFFD\uFFFD"},
                    Case{"surrogate", "\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
                    Case{"past_last", "\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
                    Case{"cut_three", "\xE2\x82", "\uFFFD"},
                    Case{"cut_three_then_ascii", "\xE2\x82x", "\uFFFDx"},
                    Case{"cut_four", "\xF0\x9F\x98", "\uFFFD"},
                    Case{"never_valid", "\xFE\xFF", "\uFFFD\uFFFD"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace hone
