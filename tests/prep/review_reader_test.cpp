#include "prep/review_reader.h"

#include "prep/json_string.h"
#include "prep/parts.h"
#include "prep/prep_fixture.h"

namespace hone::prep {
namespace {

std::string reviews_of(std::string_view bytes, data::Format format, const Fields& fields = {}) {
  const auto stream = read_reviews(data::bytes_of_memory(bytes), "file", format, fields);
  std::string all;
  for (Review review; stream->next(review);) {
    all += std::string(review.text) + "=" + std::to_string(review.label).substr(0, 3) + "|";
  }
  return all;
}

std::string refusal_of_json(std::string_view bytes) {
  return message_of([&] { reviews_of(bytes, data::Format::jsonl); });
}

TEST(Reviews, OfJsonLines) {
  EXPECT_EQ(reviews_of("{\"reviewText\": \"a \\\"b\\\" \\u00e9\", \"overall\": 5.0}\n\n \t\n"
                       "{\"overall\": \"2\", \"x\": {\"reviewText\": 1}, \"reviewText\": \"c\"}",
                       data::Format::jsonl),
            "a \"b\" \u00e9=5.0|c=2.0|");
  EXPECT_EQ(
      reviews_of("{\"overall\": 1}\n{\"overall\": 1, \"reviewText\": null}\n", data::Format::jsonl),
      "=1.0|=1.0|");
  EXPECT_EQ(reviews_of("{\"t\": \"a\", \"t\": \"b\"}", data::Format::jsonl, {"t", ""}), "b=nan|");
  EXPECT_EQ(reviews_of("{\"reviewText\": \"a\xff\", \"overall\": 1}", data::Format::jsonl),
            "a\ufffd=1.0|");
}

TEST(Reviews, StringsAreUnescapedAsJsonSays) {
  const auto text_of = [](const std::string& string) {
    bool good = false;
    std::string memory;
    const std::string line = string + "\" rest";
    const std::string text(read_json_string(line.data(), line.data() + line.size(), memory, good));
    return good ? text : "wrong";
  };
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("plain"), "plain");
  EXPECT_EQ(text_of("\\\"a\\\"\\\\\\/\\b\\f\\n\\r\\t"), "\"a\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of("\\u00e9\\uD83D\\uDE00x"), "\u00e9\U0001F600x");
  EXPECT_EQ(text_of("\\ud83dx\\ude00"), "\ufffdx\ufffd");
  EXPECT_EQ(text_of("\\ud83d\\u0041"), "\ufffdA");
  for (const char* bad : {"\\x", "\\u12", "\\u12g4", "\\"}) EXPECT_EQ(text_of(bad), "wrong") << bad;
}

TEST(Reviews, WrongJsonIsOneLineWithTheField) {
  EXPECT_NE(refusal_of_json("{\"overall\": 1}\n[1]").find("file: line 2: expected a JSON object"),
            std::string::npos);
  EXPECT_NE(refusal_of_json("{\"reviewText\": \"a}").find("file: line 1: not valid JSON"),
            std::string::npos);
  EXPECT_NE(refusal_of_json("{\"reviewText\": \"a\", \"overall\": 1} x").find("not valid JSON"),
            std::string::npos);
  EXPECT_EQ(refusal_of_json("{\"reviewText\": \"a\"}"), "file: line 1: field 'overall': missing");
  EXPECT_EQ(refusal_of_json("{\"reviewText\": 1, \"overall\": 1}"),
            "file: line 1: field 'reviewText': expected a string");
  EXPECT_EQ(refusal_of_json("{\"reviewText\": \"a\", \"overall\": \"good\"}"),
            "file: line 1: field 'overall': expected a number, got 'good'");
  EXPECT_EQ(refusal_of_json("{\"reviewText\": \"a\", \"overall\": []}"),
            "file: line 1: field 'overall': expected a number");
  EXPECT_NE(refusal_of_json("{\"reviewText\": \"a\", \"overall\": 1e300}"), "no error");
}

TEST(Reviews, OfTables) {
  const Fields fields{"sentence", "label"};
  EXPECT_EQ(reviews_of("id\tlabel\tsentence\n7\t1\tsay \"x\"\n", data::Format::tsv, fields),
            "say \"x\"=1.0|");
  EXPECT_EQ(reviews_of("label,sentence\n1,\"a\nb, c\"\n", data::Format::csv, fields),
            "a\nb, c=1.0|");
  EXPECT_NE(message_of([&] {
              reviews_of("label,text\n1,a\n", data::Format::csv, fields);
            }).find("column 'sentence': missing, got 'label, text'"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              reviews_of("label,sentence\nx,a\n", data::Format::csv, fields);
            }).find("line 2: column 'label': expected a number, got 'x'"),
            std::string::npos);
}

TEST(Parts, TogetherHaveEveryLineOnce) {
  const PrepFolder folder;
  std::string lines;
  std::string expected;
  for (int i = 0; i < 60; ++i) {
    const std::string text(static_cast<size_t>(i * 7 % 23), 'a');
    lines += "{\"reviewText\": \"" + text + "\", \"overall\": " + std::to_string(i % 5) + "}" +
             (i == 59 ? "" : "\n");
    expected += text + "=" + std::to_string(i % 5) + "|";
  }
  const Input input = describe_input(folder.put("a.jsonl", lines), std::nullopt);
  for (uint64_t bytes = 1; bytes < lines.size() + 2; bytes = bytes * 5 / 4 + 1) {
    std::string all;
    for (const Part& part : cut_parts({input}, bytes)) {
      const auto stream = open_part(input, part, {});
      for (Review review; stream->next(review);) {
        all +=
            std::string(review.text) + "=" + std::to_string(static_cast<int>(review.label)) + "|";
      }
    }
    ASSERT_EQ(all, expected) << bytes;
  }
}

TEST(Parts, OfATableKnowItsColumns) {
  const PrepFolder folder;
  std::string lines = "label\tsentence\n";
  for (int i = 0; i < 40; ++i) lines += "3\tword\n";
  const Input input = describe_input(folder.put("a.tsv", lines), std::nullopt);
  int count = 0;
  for (const Part& part : cut_parts({input}, 64)) {
    const auto stream = open_part(input, part, {"sentence", "label"});
    for (Review review; stream->next(review); ++count) EXPECT_EQ(review.text, "word");
  }
  EXPECT_EQ(count, 40);
  const Input whole =
      describe_input(folder.put("a.csv", "label,sentence\n1,\"a\nb\"\n"), std::nullopt);
  EXPECT_EQ(cut_parts({whole}, 4).size(), 1u);
}

}  // namespace
}  // namespace hone::prep
