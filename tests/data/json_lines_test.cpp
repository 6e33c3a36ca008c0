#include "data/reading.h"

namespace hone::data {
namespace {

Record only(std::string_view line) {
  const auto records = records_of(line, Format::jsonl);
  EXPECT_EQ(records.size(), 1u) << line;
  return records.empty() ? Record{} : records[0];
}

struct JsonCase {
  std::string line;
  std::string text;
  std::optional<std::string> pair;
  std::optional<std::string> label;
};

class JsonLine : public testing::TestWithParam<JsonCase> {};

TEST_P(JsonLine, Reads) {
  const Record record = only(GetParam().line);
  EXPECT_EQ(record.text, GetParam().text);
  EXPECT_EQ(record.pair, GetParam().pair);
  EXPECT_EQ(record.label, GetParam().label);
}

constexpr auto none = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    Table, JsonLine,
    testing::Values(
        JsonCase{R"({"text":"a"})", "a", none, none},
        JsonCase{R"({"meta":"m","text_pair":"b","text":"a"})", "a", "b", none},
        JsonCase{R"({"text":"a","text_pair":null,"label":null})", "a", none, none},
        JsonCase{R"({"text":"","label":"pos"})", "", none, "pos"},
        JsonCase{R"({"label":3,"sentence2":"b","sentence1":"a"})", "a", "b", "3"},
        JsonCase{R"({"idx":"7","zebra":"a","label":-1,"apple":"b","x":"c"})", "a", "b", "-1"},
        JsonCase{R"({"score":0.5,"sentence":"a","label":4.750})", "a", none, "4.750"},
        JsonCase{R"({"text":"a","label":true})", "a", none, "true"},
        JsonCase{R"({"text":"old","text":"a"})", "a", none, none},
        JsonCase{R"({"text":"\u00e9\ud83d\ude00\n\u0000"})", std::string("é😀\n\0", 8), none, none},
        JsonCase{"{\"text\":\"\xff\"}", "\xef\xbf\xbd", none, none},
        JsonCase{R"({"deep":{"text":[{"text":"no"}]},"text":"a","list":[[1],2]})", "a", none, none},
        JsonCase{"\xef\xbb\xbf {\"text\":\"a\"} \r\n", "a", none, none}));

TEST(JsonLines, BlankLinesAreSkippedAndLinesCounted) {
  const auto records = records_of("\n{\"text\":\"a\"}\n  \n\r\n{\"text\":\"b\"}", Format::jsonl);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].row, 2);
  EXPECT_EQ(records[1].row, 5);
}

TEST(JsonLines, ListsAreMultiLabel) {
  using Labels = std::vector<std::string>;
  EXPECT_EQ(only(R"({"text":"a","labels":["x","y"]})").labels, (Labels{"x", "y"}));
  EXPECT_EQ(only(R"({"text":"a","label":[1,0.0]})").labels, (Labels{"1", "0.0"}));
  EXPECT_EQ(only(R"({"text":"a","label":[]})").labels, Labels{});
  EXPECT_EQ(only(R"({"text":"a","label":[]})").label, std::nullopt);
}

TEST(JsonLines, PairsMayComeAndGo) {
  const auto records = records_of(
      "{\"text\":\"a\",\"text_pair\":\"b\"}\n{\"text\":\"c\"}\n{\"q\":\"d\"}\n", Format::jsonl);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].pair, "b");
  EXPECT_EQ(records[1].pair, std::nullopt);
  EXPECT_EQ(records[2].text, "d");
}

struct JsonErrorCase {
  std::string bytes;
  std::string message;
};

class JsonError : public testing::TestWithParam<JsonErrorCase> {};

TEST_P(JsonError, NamesFileLineAndField) {
  EXPECT_EQ(error_reading(GetParam().bytes, Format::jsonl, true), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, JsonError,
    testing::Values(
        JsonErrorCase{"\n{\"text\":", "file: line 2: not valid JSON at byte 9, got '{\"text\":'"},
        JsonErrorCase{"{\"text\":\"a\"} x",
                      "file: line 1: not valid JSON at byte 14, got '{\"text\":\"a\"} x'"},
        JsonErrorCase{"{\"text\":\"\\ud800\"}",
                      "file: line 1: not valid JSON at byte 16, got '{\"text\":\"\\ud800\"}'"},
        JsonErrorCase{"[1]", "file: line 1: expected a JSON object, got '[1]'"},
        JsonErrorCase{"\"a\"", "file: line 1: expected a JSON object, got '\"a\"'"},
        JsonErrorCase{"{}", "file: line 1: field 'text': missing"},
        JsonErrorCase{R"({"text":5,"label":0})",
                      "file: line 1: field 'text': expected a string, got '5'"},
        JsonErrorCase{R"({"text":["a"],"label":0})",
                      "file: line 1: field 'text': expected a string, got a list"},
        JsonErrorCase{R"({"text":"a","text_pair":{},"label":0})",
                      "file: line 1: field 'text_pair': expected a string, got an object"},
        JsonErrorCase{R"({"text":"a"})", "file: line 1: field 'label': missing"},
        JsonErrorCase{R"({"text":"a","label":null})", "file: line 1: field 'label': missing"},
        JsonErrorCase{R"({"text":"a","label":{}})",
                      "file: line 1: field 'label': expected a string, a number or a list of them"},
        JsonErrorCase{R"({"text":"a","label":[null]})",
                      "file: line 1: field 'label': expected a string, a number or a list of them"},
        JsonErrorCase{"{\"q\":\"a\",\"label\":0}\n{\"r\":\"a\",\"label\":0}",
                      "file: line 2: field 'q': missing"}));

TEST(JsonLines, NestingAndFieldsAreBounded) {
  const std::string deep =
      "{\"text\":\"a\",\"x\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}";
  EXPECT_EQ(only(deep).text, "a");
  std::string wide = "{\"text\":\"a\"";
  for (int i = 0; i < 5000; ++i) wide += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(error_reading(wide + "}", Format::jsonl),
            "file: line 1: more than 4096 fields in a JSON object");
}

}  // namespace
}  // namespace hone::data
