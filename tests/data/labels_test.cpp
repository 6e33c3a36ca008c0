#include "data/labels.h"

#include "data/reading.h"

namespace hone::data {
namespace {

using Names = std::vector<std::string>;

Record labelled(const std::string& label) {
  Record record;
  record.label = label;
  record.row = 7;
  return record;
}

Record listed(Names labels) {
  Record record;
  record.labels = std::move(labels);
  record.row = 7;
  return record;
}

class LabelTest : public testing::Test {
 protected:
  int64_t id(const LabelMap& map, const std::string& label) {
    return map.id(labelled(label), *stream_);
  }
  std::unique_ptr<RecordStream> stream_ = stream_of("", Format::lines);
  const Names mnli_ = {"entailment", "neutral", "contradiction"};
};

TEST_F(LabelTest, NamesBeatOrder) {
  const LabelMap map(mnli_, {"CONTRADICTION", "Neutral", "entail-ment"});
  EXPECT_TRUE(map.by_name());
  EXPECT_EQ(id(map, "entailment"), 2);
  EXPECT_EQ(id(map, "0"), 2);
  EXPECT_EQ(id(map, "contradiction"), 0);
  EXPECT_EQ(id(map, "2"), 0);
  EXPECT_EQ(id(map, "2.0"), 0);
}

TEST_F(LabelTest, NamelessModelsGoById) {
  for (const Names& names : {Names{"LABEL_0", "LABEL_1", "LABEL_2"}, Names{"0", "1", "2"}}) {
    const LabelMap map(mnli_, names);
    EXPECT_FALSE(map.by_name());
    EXPECT_EQ(id(map, "contradiction"), 2);
    EXPECT_EQ(id(map, "1"), 1);
  }
}

TEST_F(LabelTest, NoNameInCommonGoesById) {
  const LabelMap map({"unacceptable", "acceptable"}, {"bad", "good"});
  EXPECT_FALSE(map.by_name());
  EXPECT_EQ(id(map, "1"), 1);
}

TEST_F(LabelTest, ModelsWithMoreClassesThanTheTask) {
  const LabelMap map({"negative", "positive"}, {"POS", "neutral", "NEG"});
  EXPECT_EQ(id(map, "1"), 0);
  EXPECT_EQ(id(map, "0"), 2);
}

TEST_F(LabelTest, LabelsThatDoNotFitAreAnError) {
  const std::string message =
      "dir/config.json: id2label: expected the labels 'entailment, neutral, contradiction', got ";
  EXPECT_EQ(error_of([&] {
              LabelMap(mnli_, {"entailment", "not_entailment"}, "dir/config.json");
            }),
            message + "'entailment, not_entailment'");
  EXPECT_EQ(error_of([&] {
              LabelMap(mnli_, {"LABEL_0", "LABEL_1"}, "dir/config.json");
            }),
            message + "'LABEL_0, LABEL_1'");
}

TEST_F(LabelTest, OwnFilesUseTheModelsNamesOrIds) {
  const LabelMap map({}, {"negative", "positive"});
  EXPECT_EQ(id(map, "Positive"), 1);
  EXPECT_EQ(id(map, "pos"), 1);
  EXPECT_EQ(id(map, "0"), 0);
  for (const char* label : {"happy", "2", "-1", "", "1.5", "1e0", "99999999999999999999"}) {
    EXPECT_EQ(error_of([&] { id(map, label); }),
              "file: line 7: label: expected one of 'negative, positive', got " + quote(label));
  }
  EXPECT_EQ(error_of([&] {
              map.id(Record{"a", {}, {}, {}, 3}, *stream_);
            }),
            "file: line 3: label: missing");
  EXPECT_EQ(error_of([&] { map.id(listed({"0"}), *stream_); }),
            "file: line 7: label: a list, expected one value");
}

TEST_F(LabelTest, MultiLabel) {
  const LabelMap map({}, {"a", "b", "c"});
  using Flags = std::vector<bool>;
  EXPECT_EQ(map.ids(listed({"c", "a"}), *stream_), (Flags{true, false, true}));
  EXPECT_EQ(map.ids(listed({}), *stream_), (Flags{false, false, false}));
  EXPECT_EQ(map.ids(listed({"0", "1.0", "0"}), *stream_), (Flags{false, true, false}));
  EXPECT_EQ(map.ids(listed({"0", "2"}), *stream_), (Flags{true, false, true}));
  EXPECT_EQ(map.ids(labelled("b"), *stream_), (Flags{false, true, false}));
  EXPECT_EQ(error_of([&] {
              map.ids(listed({"a", "x"}), *stream_);
            }),
            "file: line 7: label: expected one of 'a, b, c', got 'x'");
}

TEST_F(LabelTest, Scores) {
  EXPECT_EQ(score_of(labelled("4.750"), *stream_), 4.75);
  EXPECT_EQ(score_of(labelled("-1e-3"), *stream_), -1e-3);
  for (const char* label : {"", "high", "nan", "inf", "1e999", "4,5", "4.5 "}) {
    EXPECT_EQ(error_of([&] { score_of(labelled(label), *stream_); }),
              "file: line 7: label: expected a number, got " + quote(label));
  }
}

}  // namespace
}  // namespace hone::data
