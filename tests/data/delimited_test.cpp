#include "base/file.h"
#include "base/json.h"
#include "data/reading.h"

namespace hone::data {
namespace {

using namespace std::string_literals;

std::vector<std::string> texts(std::string_view bytes, Format format) {
  std::vector<std::string> texts;
  for (const Record& record : records_of(bytes, format)) {
    texts.push_back(record.text + (record.pair ? "|" + *record.pair : ""));
  }
  return texts;
}

struct TableCase {
  Format format;
  std::string bytes;
  std::vector<std::string> texts;  ///< "text" or "text|pair"
};

class Table : public testing::TestWithParam<TableCase> {};

TEST_P(Table, Reads) { EXPECT_EQ(texts(GetParam().bytes, GetParam().format), GetParam().texts); }

constexpr Format csv = Format::csv, tsv = Format::tsv;

INSTANTIATE_TEST_SUITE_P(
    Csv, Table,
    testing::Values(
        TableCase{csv, "text\n", {}}, TableCase{csv, "text", {}},
        TableCase{csv, "text\na\nb", {"a", "b"}}, TableCase{csv, "text\r\na\r\n", {"a"}},
        TableCase{csv, "\n\ntext\n\na\n\n\nb\n\n", {"a", "b"}},
        TableCase{csv, "\xef\xbb\xbftext\na\n", {"a"}},
        TableCase{csv, "\"text\"\n\"a, b\"\n", {"a, b"}},
        TableCase{csv, "text\n\"a \"\"b\"\" c\"\n", {"a \"b\" c"}},
        TableCase{csv, "text\n\"a\nb\r\nc\"\nd\n", {"a\nb\r\nc", "d"}},
        TableCase{csv, "text\n\"a\n\n\nb\"\n", {"a\n\n\nb"}}, TableCase{csv, "text\n\"\"\n", {""}},
        TableCase{csv, "text\n\"\"\"\"\n", {"\""}}, TableCase{csv, "text\na\"b\n", {"a\"b"}},
        TableCase{csv, "text\n\"a\"b\"c\n", {"ab\"c"}},
        TableCase{csv, "text\n \"a\"\n", {" \"a\""}},
        TableCase{csv, "text\n\0\xff\n"s, {"\0\xff"s}},
        TableCase{csv, "text,text_pair\na,b\n,\n", {"a|b", "|"}},
        TableCase{csv, "text,text_pair\n\"a\nb\",\"c\nd\"\n", {"a\nb|c\nd"}}));

INSTANTIATE_TEST_SUITE_P(Tsv, Table,
                         testing::Values(TableCase{tsv, "text\n\"a\n", {"\"a"}},
                                         TableCase{
                                             tsv, "text\ttext_pair\n\"a\t\"b\"\n", {"\"a|\"b\""}},
                                         TableCase{tsv, "text\ttext_pair\n\t\n", {"|"}},
                                         TableCase{tsv, "text\r\na,b\r\n\r\nc", {"a,b", "c"}}));

INSTANTIATE_TEST_SUITE_P(
    Columns, Table,
    testing::Values(TableCase{csv, "label,sentence2,x,sentence1\n0,b,c,a\n", {"a|b"}},
                    TableCase{csv, "label,sentence1,x\n0,a,b\n", {"a"}},
                    TableCase{csv, "other,text,label\nb,a,0\n", {"a"}},
                    TableCase{csv, "idx,label,id,index,review\n1,0,2,3,a\n", {"a"}},
                    TableCase{csv, "question,sentence,label\na,b,0\n", {"a|b"}},
                    TableCase{csv, "premise,label,hypothesis,genre\na,0,b,c\n", {"a|b"}}));

TEST(Csv, GivesLabelsAndLines) {
  const auto records = records_of("label,text\npos,\"a\nb\"\n,c\n1.5,d\n", csv);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].label, "pos");
  EXPECT_EQ(records[1].label, std::nullopt);
  EXPECT_EQ(records[2].label, "1.5");
  EXPECT_EQ(records[0].row, 2);
  EXPECT_EQ(records[1].row, 4);
  EXPECT_EQ(records[2].row, 5);
  EXPECT_EQ(stream_of("", csv)->where(records[2]), "file: line 5");
}

struct TableErrorCase {
  Format format;
  std::string bytes;
  std::string message;
};

class TableError : public testing::TestWithParam<TableErrorCase> {};

TEST_P(TableError, NamesFileLineAndColumn) {
  EXPECT_EQ(error_reading(GetParam().bytes, GetParam().format, true), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TableError,
    testing::Values(
        TableErrorCase{csv, "", "file: empty, expected a header"},
        TableErrorCase{tsv, "\n\n", "file: empty, expected a header"},
        TableErrorCase{csv, "text,label\na,0\nb\n", "file: line 3: expected 2 fields, got 1"},
        TableErrorCase{csv, "text,label\n\"a\nb\",0\na,0,1\n",
                       "file: line 4: expected 2 fields, got 3"},
        TableErrorCase{tsv, "text\tlabel\na\t0\t1\n", "file: line 2: expected 2 fields, got 3"},
        TableErrorCase{csv, "text,label\na,0\n\"b,1\nc,0\n",
                       "file: line 3: column 'text': a quote is never closed"},
        TableErrorCase{csv, "text,\"label", "file: line 1: column 2: a quote is never closed"},
        TableErrorCase{csv, "text,score\na,0\n",
                       "file: line 1: column 'label': missing, got 'text, score'"},
        TableErrorCase{csv, "label,idx\n0,1\n",
                       "file: line 1: no column of text, got 'label, idx'"},
        TableErrorCase{csv, "text,label,label\n", "file: line 1: column 'label': there twice"},
        TableErrorCase{csv, "text,label\na,\n",
                       "file: line 2: column 'label': expected a label, got ''"},
        TableErrorCase{Format::lines, "a\n",
                       "file: plain lines have no labels; expected .csv, .tsv or .jsonl"}));

TEST(Csv, ReadsBadQuotesAsPythonDoes) {
  const std::string file = HONE_TEST_DIR "/csv_goldens.json";
  const Json cases = parse_json(read_file(file), file);
  ASSERT_EQ(cases.size(), 300u);
  for (const Json& c : cases) {
    const std::string bytes = c["text"];
    std::vector<std::vector<std::string>> rows;
    for (const Record& record : records_of(bytes, csv)) {
      rows.push_back({record.text, record.pair.value()});
    }
    EXPECT_EQ(Json(rows), c["rows"]) << c["text"];
  }
}

TEST(Csv, QuoteThatRunsOnIsStoppedAtTheLimit) {
  std::string bytes = "text\n\"";
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 66; ++i) bytes += line + "\n";
  EXPECT_EQ(error_reading(bytes, csv),
            "file: line 2: a quoted field runs on for more than 67108864 bytes");
}

TEST(Csv, StorageFromLongerRowsDoesNotLeakIntoShorterOnes) {
  EXPECT_EQ(texts("text,text_pair\nlong text,long pair\n,\na,b\n", csv),
            (std::vector<std::string>{"long text|long pair", "|", "a|b"}));
}

}  // namespace
}  // namespace hone::data
