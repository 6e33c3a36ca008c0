#include "base/json.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hone {
namespace {

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Json, SaysWhereTheTextBreaks) {
  EXPECT_EQ(message_of([] { parse_json("{\"a\": }", "x.json"); }),
            "x.json: not valid JSON at byte 7");
  EXPECT_EQ(message_of([] { parse_json("", "x.json"); }), "x.json: not valid JSON at byte 1");
}

TEST(Json, RefusesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(message_of([&] { parse_json(deep, "x.json"); }),
            "x.json: JSON nests deeper than 128 levels");
  EXPECT_NO_THROW(parse_json("\"" + std::string(1000, '[') + "\"", "x.json"));
}

TEST(JsonFields, ReadsTypesAndNamesWhatIsWrong) {
  const Json json = parse_json(
      R"({"n": 3, "whole": 4.0, "half": 0.5, "s": "text", "b": true, "none": null,
          "huge": 18446744073709551615, "o": {"inner": -1}})",
      "c.json");
  const JsonFields fields(json, "c.json");
  EXPECT_EQ(fields.integer("n", 0, 10), 3);
  EXPECT_EQ(fields.integer("whole", 0, 10), 4);
  EXPECT_EQ(fields.integer("none", 0, 10, 7), 7);
  EXPECT_EQ(fields.string("s"), "text");
  EXPECT_TRUE(fields.boolean("b"));
  EXPECT_DOUBLE_EQ(fields.number("half"), 0.5);
  EXPECT_FALSE(fields.has("none"));
  EXPECT_EQ(message_of([&] { fields.integer("half", 0, 1); }),
            "c.json: half: expected a whole number from 0 to 1, got '0.5'");
  EXPECT_EQ(message_of([&] { fields.integer("huge", 0, INT64_MAX); }),
            "c.json: huge: expected a whole number from 0 to 9223372036854775807, got "
            "'18446744073709551615'");
  EXPECT_EQ(message_of([&] { fields.integer("gone", 0, 1); }), "c.json: gone: missing");
  EXPECT_EQ(message_of([&] { fields.object("o").integer("inner", 0, 1); }),
            "c.json: o.inner: expected a whole number from 0 to 1, got '-1'");
  EXPECT_EQ(message_of([&] { fields.object("s"); }),
            "c.json: s: expected an object, got '\"text\"'");
}

}  // namespace
}  // namespace hone
