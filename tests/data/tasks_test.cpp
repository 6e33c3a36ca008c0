#include "data/tasks.h"

#include <map>

#include "data/reading.h"

namespace hone::data {
namespace {

std::vector<Record> read_task(const char* name, const std::string& folder,
                              const std::string& split) {
  return records_of(*open_task(*find_task(name), folder, split));
}

TEST(Tasks, AreFoundByAnySpelling) {
  EXPECT_EQ(all_tasks().size(), 18u);
  for (const char* name : {"sst2", "SST-2", "sst_2"}) EXPECT_EQ(find_task(name)->name, "sst2");
  EXPECT_EQ(find_task("STS-B")->name, "stsb");
  EXPECT_EQ(find_task("emnist"), nullptr);
  EXPECT_TRUE(find_task("stsb")->regression());
  EXPECT_EQ(find_task("trec50")->labels.size(), 50u);
  EXPECT_EQ(evaluation_splits(*find_task("mnli")),
            (std::vector<std::string>{"validation_matched", "validation_mismatched"}));
  EXPECT_EQ(evaluation_splits(*find_task("rte")), std::vector<std::string>{"validation"});
}

TEST(Tasks, GlueFoldersAndTheTasksOwn) {
  const TemporaryFolder folder;
  folder.write("SST-2/dev.tsv", "sentence\tlabel\n\"a b\t1\n");
  for (const std::string& place : {folder.path(), folder.path() + "/SST-2"}) {
    const auto records = read_task("sst2", place, "validation");
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].text, "\"a b");
    EXPECT_EQ(records[0].label, "1");
  }
  EXPECT_EQ(error_of([&] { read_task("sst2", folder.path(), "train"); }),
            fmt::format("{0}: no train set of sst2: tried {0}/SST-2/train.tsv, "
                        "{0}/sst2/train.tsv, {0}/glue/SST-2/train.tsv, {0}/train.tsv",
                        folder.path()));
  EXPECT_EQ(error_of([&] { read_task("sst2", folder.path(), "dev"); }),
            "sst2: split: expected one of train, validation, test, got 'dev'");
}

TEST(Tasks, ColumnsByName) {
  const TemporaryFolder folder;
  folder.write("MNLI/dev_matched.tsv",
               "index\tsentence1\tsentence2\tlabel1\tgold_label\n0\ta\tb\tneutral\tentailment\n");
  folder.write("MNLI/dev_mismatched.tsv", "sentence1\tsentence2\tgold_label\nc\td\tneutral\n");
  folder.write("QQP/train.tsv",
               "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t2\t3\ta\tb\t1\n4\tbad\n"
               "5\t6\t7\tc\td\t0\n");
  folder.write("MRPC/test.tsv",
               "\xef\xbb\xbfindex\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\ta\tb\n");
  folder.write("RTE/dev.tsv", "index\tsentence1\tlabel\n0\ta\tentailment\n");
  const auto matched = read_task("mnli", folder.path(), "validation");
  ASSERT_EQ(matched.size(), 1u);
  EXPECT_EQ(matched[0].text, "a");
  EXPECT_EQ(matched[0].pair, "b");
  EXPECT_EQ(matched[0].label, "entailment");
  EXPECT_EQ(read_task("mnli", folder.path(), "validation_mismatched").at(0).text, "c");
  const auto qqp = read_task("qqp", folder.path(), "train");
  ASSERT_EQ(qqp.size(), 2u);
  EXPECT_EQ(qqp[1].text, "c");
  EXPECT_EQ(qqp[1].row, 4);
  const auto test = read_task("mrpc", folder.path(), "test");
  EXPECT_EQ(test.at(0).pair, "b");
  EXPECT_EQ(test.at(0).label, std::nullopt);
  EXPECT_EQ(error_of([&] { read_task("rte", folder.path(), "validation"); }),
            folder.path() +
                "/RTE/dev.tsv: line 1: column 'sentence2' or '#2 String': missing, "
                "got 'index, sentence1, label'");
}

TEST(Tasks, ColaHasNoHeaderButItsTestSet) {
  const TemporaryFolder folder;
  folder.write("CoLA/dev.tsv", "gj04\t1\t\tThe \"first.\ngj04\t0\t*\tSecond.");
  folder.write("CoLA/test.tsv", "index\tsentence\n0\tBill.\n");
  const auto dev = read_task("cola", folder.path(), "validation");
  ASSERT_EQ(dev.size(), 2u);
  EXPECT_EQ(dev[0].text, "The \"first.");
  EXPECT_EQ(dev[0].label, "1");
  EXPECT_EQ(dev[1].label, "0");
  const auto test = read_task("cola", folder.path(), "test");
  ASSERT_EQ(test.size(), 1u);
  EXPECT_EQ(test[0].text, "Bill.");
}

TEST(Tasks, Trees) {
  const TemporaryFolder folder;
  folder.write("dev.txt", "(3 (2 It) (4 (2 -LRB-) (2 and\\/or)))\n(0 (2 -RRB-))\n");
  const auto records = read_task("sst5", folder.path(), "validation");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].text, "It ( and/or");
  EXPECT_EQ(records[0].label, "3");
  EXPECT_EQ(records[1].text, ")");
  for (const auto& [tree, problem] :
       std::map<std::string, std::string>{{"(5 a)", "expected a label from 0 to 4 after '('"},
                                          {"(", "expected a label from 0 to 4 after '('"},
                                          {"(3 (2 a)", "a bracket is never closed"},
                                          {"(3 a) b", "text after the tree"},
                                          {"(3 a))", "text after the tree"},
                                          {")", "expected '('"},
                                          {")(3 a", "expected '('"},
                                          {"a", "expected '('"},
                                          {"(3 )", "no words"}}) {
    const std::string path = folder.write("dev.txt", tree);
    EXPECT_EQ(error_of([&] { read_task("sst5", folder.path(), "validation"); }),
              fmt::format("{}: line 1: tree: {}, got '{}'", path, problem, tree));
  }
}

TEST(Tasks, TrecIsLatin1) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("trec/test.txt", "LOC:city What is Malm\xf6 ?\nNUM:dist How far ?\nbad\n");
  const auto stream = open_task(*find_task("trec6"), folder.path(), "validation");
  Record record;
  ASSERT_TRUE(stream->next(record));
  EXPECT_EQ(record.text, "What is Malmö ?");
  EXPECT_EQ(record.label, "LOC");
  ASSERT_TRUE(stream->next(record));
  EXPECT_EQ(error_of([&] { stream->next(record); }),
            path + ": line 3: expected 'COARSE:fine text', got 'bad'");
  EXPECT_EQ(open_task(*find_task("trec50"), folder.path(), "test")->next(record), true);
  EXPECT_EQ(record.label, "LOC:city");
}

TEST(Tasks, SubjAlternatesAndSplitsByTens) {
  const TemporaryFolder folder;
  std::string plot, quotes;
  for (int i = 1; i <= 20; ++i) plot += fmt::format("p{}\n", i);
  for (int i = 1; i <= 31; ++i) quotes += fmt::format("q{}\n", i);
  folder.write("subj/plot.tok.gt9.5000", plot);
  folder.write("subj/quote.tok.gt9.5000", quotes);
  const auto validation = read_task("subj", folder.path(), "validation");
  std::vector<std::string> texts;
  for (const Record& record : validation) texts.push_back(record.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"p10", "q10", "p20", "q20", "q30"}));
  EXPECT_EQ(validation[1].label, "subjective");
  EXPECT_EQ(read_task("subj", folder.path(), "train").size(), 18u + 28u);
  const auto stream = open_task(*find_task("subj"), folder.path(), "train");
  EXPECT_EQ(stream->where(validation[1]), folder.path() + "/subj/quote.tok.gt9.5000: line 10");
  EXPECT_EQ(stream->where(validation[0]), folder.path() + "/subj/plot.tok.gt9.5000: line 10");
}

}  // namespace
}  // namespace hone::data
