// Stores of hone prep read as records.
#include "data/entry_records.h"

#include <cmath>
#include <limits>

#include "data/entry_fixture.h"
#include "data/store_fixture.h"
#include "text/words.h"

namespace hone::data {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

TextProcessor words_processor(const std::string& vocabulary, int64_t max_length = 8) {
  text::Tokenizer tokenizer(text::build_word_tokenizer(vocabulary, "vocabulary.txt"));
  TextLimits limits{max_length, tokenizer.id_end(), 0};
  limits.reads_last = true;
  return {std::move(tokenizer),
          {"", {{entry_format::kVocabulary, vocabulary}}},
          limits,
          max_length,
          "words"};
}

class EntryRecordsTest : public StoreTest {
 protected:
  std::string folder() const { return folder_.path(); }
};

TEST_F(EntryRecordsTest, GiveIdsAndLabels) {
  StoreDraft draft;
  draft.labels = {1, 2.5};
  draft.write(folder());
  const auto records = open_records(folder(), {});
  Record record;
  record.text = "old";
  record.pair = "old";
  ASSERT_TRUE(records->next(record));
  EXPECT_EQ(record.ids, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(record.label, "1");
  EXPECT_TRUE(record.text.empty() && !record.pair);
  ASSERT_TRUE(records->next(record));
  EXPECT_EQ(record.ids, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(record.label, "2.5");
  EXPECT_EQ(records->where(record), folder() + ": row 1");
  EXPECT_FALSE(records->next(record));
}

TEST_F(EntryRecordsTest, MoreThanOneBlockComesInOrder) {
  StoreDraft draft;
  draft.length = 1;
  draft.manifest.length = 1;
  draft.manifest.rows = 9000;
  draft.ids.clear();
  for (int i = 0; i < 9000; ++i) draft.ids.push_back(1 + i % 3);
  draft.lengths.assign(9000, 1);
  draft.labels.assign(9000, 1);
  draft.write(folder());
  EntryRecords records(folder(), true);
  Record record;
  for (int i = 0; i < 9000; ++i) {
    ASSERT_TRUE(records.next(record));
    ASSERT_EQ(record.ids, std::vector<int32_t>{1 + i % 3}) << i;
  }
  EXPECT_FALSE(records.next(record));
}

TEST_F(EntryRecordsTest, AMissingLabelIsAnErrorWhereOneIsNeeded) {
  StoreDraft draft;
  draft.labels = {1, kNone};
  draft.write(folder());
  Record record;
  EntryRecords without(folder(), false);
  ASSERT_TRUE(without.next(record) && without.next(record));
  EXPECT_FALSE(record.label);
  EntryRecords with(folder(), true);
  ASSERT_TRUE(with.next(record));
  EXPECT_EQ(error_of([&] { with.next(record); }), folder() + ": row 1: label: missing");
}

TEST_F(EntryRecordsTest, AnEntryWithoutIdsIsAnError) {
  StoreDraft draft;
  draft.ids = {0, 0, 0, 1, 2, 3};
  draft.lengths = {0, 3};
  draft.write(folder());
  Record record;
  EntryRecords records(folder(), false);
  EXPECT_EQ(error_of([&] { records.next(record); }), folder() + ": row 0: no ids");
}

TEST_F(EntryRecordsTest, BecomeTheSamplesOfTheirTexts) {
  StoreDraft().write(folder());
  const TextProcessor words = words_processor("good\nbad\n");
  const LabelSet labels{ProblemType::single_label, {"1", "5"}};
  const OpenedStore of_ids = opened(file_split(folder(), true), recipe(words, labels));
  ASSERT_EQ(of_ids.store.samples(), 2);
  std::vector<EncodedSample> expected;
  words.encode(std::vector<RawSample>{{"good bad", {}}, {"rare good bad", {}}}, pool_, expected);
  std::vector<std::byte> sample;
  for (int64_t i = 0; i < 2; ++i) {
    of_ids.store.read(i, sample);
    EXPECT_EQ(sample, expected[static_cast<size_t>(i)].bytes) << i;
    EXPECT_EQ(of_ids.store.class_of(i), i);
  }
}

TEST_F(EntryRecordsTest, AreCutWhereTheModelReadsLess) {
  StoreDraft().write(folder());
  const TextProcessor words = words_processor("good\nbad\n", 2);
  const LabelSet labels{ProblemType::single_label, {"1", "5"}};
  const OpenedStore store = opened(file_split(folder(), true), recipe(words, labels));
  EXPECT_EQ(store.store.truncated(), 1);
  EXPECT_EQ(store.store.lengths()[1], 2);
}

TEST_F(EntryRecordsTest, TheIdsOfAnotherVocabularyAreRefused) {
  StoreDraft().write(folder());
  const auto refusal = [&](const Processor& processor) {
    EntryRecords records(folder(), false);
    return error_of([&] { records.check_ids(processor); });
  };
  EXPECT_EQ(refusal(words_processor("good\nbad\n")), "no error");
  EXPECT_NE(refusal(words_processor("bad\ngood\n")).find("the model has another one"),
            std::string::npos);
  EXPECT_NE(refusal(processor_).find("the model has a tokenizer"), std::string::npos);
}

TEST_F(EntryRecordsTest, TheIdsOfAnotherTokenizerAreRefused) {
  StoreDraft draft;
  ContentHash hash;
  hash.text(reviews_tokenizer_json());
  draft.manifest.has_words = false;
  draft.manifest.tokenizer = hex(hash.value());
  draft.write(folder());
  EntryRecords records(folder(), false);
  EXPECT_EQ(error_of([&] { records.check_ids(processor_); }), "no error");
  const TextProcessor other = processor_of(changed_tokenizer("decoder", nullptr));
  EXPECT_NE(error_of([&] { records.check_ids(other); }).find("field tokenizer"), std::string::npos);
  EXPECT_NE(error_of([&] { records.check_ids(words_processor("a\n")); }).find("field tokenizer"),
            std::string::npos);
}

}  // namespace
}  // namespace hone::data
