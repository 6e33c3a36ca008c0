#include "base/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/json.h"

namespace hone {
namespace {

std::string text_of(auto value) {
  std::string out;
  append_json(out, value);
  return out;
}

TEST(JsonText, WritesFloatsThatReadBackAsTheSame) {
  EXPECT_EQ(text_of(1.f), "1");
  EXPECT_EQ(text_of(0.1f), "0.1");
  EXPECT_EQ(text_of(-0.82191586f), "-0.82191586");
  for (const float value : {1e-45f, 3.4028235e38f, -0.f, 1e-7f, 16777217.f, 1.17549435e-38f}) {
    const std::string text = text_of(value);
    EXPECT_EQ(static_cast<float>(Json::parse(text).get<double>()), value) << text;
  }
  EXPECT_EQ(Json::parse(text_of(0.1)).get<double>(), 0.1);
}

TEST(JsonText, WritesNullForWhatIsNotFinite) {
  EXPECT_EQ(text_of(std::nanf("")), "null");
  EXPECT_EQ(text_of(-std::numeric_limits<float>::infinity()), "null");
  EXPECT_EQ(text_of(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonText, EscapesStringsAndReplacesWhatIsNotUtf8) {
  EXPECT_EQ(text_of(std::string_view("a\"b\\c\n\t\r")), R"("a\"b\\c\n\t\r")");
  EXPECT_EQ(text_of(std::string_view("\x01\x7f\0", 3)), R"("\u0001\u007f\u0000")");
  EXPECT_EQ(text_of(std::string_view("é😀")), "\"é😀\"");
  EXPECT_EQ(text_of(std::string_view("a\xff\xe2\x82z")), "\"a\xef\xbf\xbd\xef\xbf\xbdz\"");
}

TEST(JsonText, WritesLists) {
  std::string out;
  append_json_list(out, std::vector<int32_t>{1, -2, std::numeric_limits<int32_t>::max()});
  append_json_list(out, std::vector<float>());
  append_json_list(out, std::vector<std::string_view>{"a", ""});
  EXPECT_EQ(out, R"([1,-2,2147483647][]["a",""])");
}

}  // namespace
}  // namespace hone
