#include "data/splits.h"

#include "data/reading.h"

namespace hone::data {
namespace {

using Names = std::vector<std::string>;

class SplitsTest : public testing::Test {
 protected:
  LabelSet discover(const std::string& name, std::string_view bytes) {
    return discover_labels(file_split(folder_.write(name, bytes), true));
  }
  std::string complaint(const std::string& name, std::string_view bytes) {
    const std::string message = error_of([&] { discover(name, bytes); });
    const std::string place = folder_.path() + "/";
    return message.starts_with(place) ? message.substr(place.size()) : message;
  }
  TemporaryFolder folder_;
};

TEST_F(SplitsTest, NamesAreSorted) {
  const LabelSet set = discover("a.csv", "text,label\nx,sad\ny,happy\nz,sad\nv,angry\n");
  EXPECT_EQ(set.problem, ProblemType::single_label);
  EXPECT_EQ(set.names, (Names{"angry", "happy", "sad"}));
}

TEST_F(SplitsTest, WholeNumbersAreClassesInTheirOrder) {
  EXPECT_EQ(discover("a.csv", "text,label\nx,10\ny,2\nz,1\n").names, (Names{"1", "2", "10"}));
  EXPECT_EQ(
      discover("a.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\",\"label\":0}\n").names,
      (Names{"0", "1"}));
  EXPECT_EQ(discover("b.csv", "text,label\nx,1\ny,x\nz,10\nv,2\n").names,
            (Names{"1", "10", "2", "x"}));
}

TEST_F(SplitsTest, DecimalsAreScores) {
  for (const char* rows : {"x,1.5\ny,2\n", "x,1.0\ny,2.0\n", "x,1e-1\ny,3\n"}) {
    const LabelSet set = discover("a.csv", std::string("text,label\n") + rows);
    EXPECT_EQ(set.problem, ProblemType::regression) << rows;
    EXPECT_TRUE(set.names.empty());
  }
}

TEST_F(SplitsTest, ListsAreFlags) {
  const LabelSet named = discover(
      "a.jsonl", "{\"text\":\"a\",\"labels\":[\"z\",\"b\"]}\n{\"text\":\"b\",\"labels\":[]}\n");
  EXPECT_EQ(named.problem, ProblemType::multi_label);
  EXPECT_EQ(named.names, (Names{"b", "z"}));
  EXPECT_EQ(discover("b.jsonl",
                     "{\"text\":\"a\",\"labels\":[0,1,0]}\n"
                     "{\"text\":\"b\",\"labels\":[1,1,0]}\n")
                .names,
            (Names{"LABEL_0", "LABEL_1", "LABEL_2"}));
  EXPECT_EQ(complaint("c.jsonl", "{\"text\":\"a\",\"labels\":[]}\n"),
            "c.jsonl: labels: all lists are empty");
  EXPECT_EQ(complaint("d.jsonl",
                      "{\"text\":\"a\",\"labels\":[\"x\"]}\n{\"text\":\"b\",\"label\":\"x\"}\n"),
            "d.jsonl: line 2: label: one value, where earlier rows have a list");
  EXPECT_EQ(complaint("e.jsonl",
                      "{\"text\":\"b\",\"label\":\"x\"}\n{\"text\":\"a\",\"labels\":[\"x\"]}\n"),
            "e.jsonl: line 2: label: a list, where earlier rows have one value");
}

TEST_F(SplitsTest, FilesThatTeachNothing) {
  EXPECT_EQ(complaint("a.csv", "text,label\n"), "a.csv: no samples");
  EXPECT_EQ(complaint("a.jsonl", ""), "a.jsonl: no samples");
  EXPECT_EQ(complaint("b.csv", "text,label\nx,good\n"),
            "b.csv: label: expected at least two classes, got only 'good' (1 rows)");
  EXPECT_EQ(complaint("c.csv", "text,label\nx,1\ny,1\n"),
            "c.csv: label: expected at least two classes, got only '1' (2 rows)");
  EXPECT_EQ(complaint("d.csv", "text,label\nx,good\ny,\n"),
            "d.csv: line 3: column 'label': expected a label, got ''");
  EXPECT_EQ(complaint("e.csv", "text,label\nx,Good\ny,good\nz,bad\n"),
            "e.csv: label: 'Good' and 'good' are read as one label");
  EXPECT_EQ(error_of([&] { file_split(folder_.path() + "/none.csv", true); }),
            folder_.path() + "/none.csv: cannot open: not a regular file, or not there");
}

TEST_F(SplitsTest, UnknownLabelsAtEvaluation) {
  const LabelSet set = discover("a.csv", "text,label\nx,0\ny,2\n");
  EXPECT_EQ(set.names, (Names{"0", "2"}));
  const LabelMap map({}, set.names);
  const auto stream = stream_of("text,label\na,2\nb,2.0\nc,1\n", Format::csv, true);
  Record record;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream->next(record));
    EXPECT_EQ(map.id(record, *stream), 1);
  }
  ASSERT_TRUE(stream->next(record));
  EXPECT_EQ(error_of([&] { map.id(record, *stream); }),
            "file: line 4: label: expected one of '0, 2', got '1'");
}

TEST_F(SplitsTest, TasksCanBeOpenedTwice) {
  folder_.write("SST-2/train.tsv", "sentence\tlabel\na\t1\nb\t0\n");
  const Split split = task_split(*find_task("sst2"), folder_.path(), "train");
  EXPECT_EQ(split.name, "sst2 train");
  EXPECT_EQ(split.files, Names{folder_.path() + "/SST-2/train.tsv"});
  for (int turn = 0; turn < 2; ++turn) EXPECT_EQ(records_of(*split.open()).size(), 2u);
  EXPECT_EQ(task_labels(*find_task("sst2")).names, (Names{"negative", "positive"}));
  EXPECT_EQ(task_labels(*find_task("stsb")).problem, ProblemType::regression);
  EXPECT_NE(error_of([&] { task_split(*find_task("rte"), folder_.path(), "train"); }), "no error");
  EXPECT_TRUE(task_split(*find_task("reviews"), "", "test").files.empty());
}

TEST(Trainable, NeedsSamplesOfEveryClass) {
  const LabelSet set{ProblemType::single_label, {"a", "b", "c"}};
  require_trainable("f", set, 5, {1, 3, 1});
  require_trainable("f", {ProblemType::regression, {}}, 2, {});
  const auto complaint = [](const LabelSet& labels, int64_t samples, std::vector<int64_t> counts) {
    return error_of([&] { require_trainable("f.csv", labels, samples, counts); });
  };
  EXPECT_EQ(complaint(set, 4, {1, 0, 3}), "f.csv: label: no sample of class 'b' among 4");
  EXPECT_EQ(complaint(set, 0, {0, 0, 0}), "f.csv: no samples; training needs at least two");
  EXPECT_EQ(complaint({ProblemType::regression, {}}, 1, {}),
            "f.csv: one sample; training needs at least two");
}

}  // namespace
}  // namespace hone::data
