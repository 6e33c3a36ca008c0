#include "data/reviews.h"

#include <cmath>
#include <map>
#include <set>

#include "data/content_hash.h"
#include "data/corpora.h"
#include "data/reading.h"
#include "data/review_trees.h"
#include "data/tasks.h"
#include "text/tokenizer.h"
#include "trees/words.h"

namespace hone::data {
namespace {

std::vector<Record> split_of(const ReviewOptions& options, const std::string& split) {
  return records_of(*open_reviews(options, split));
}

int sign_of(const SentimentTree& tree) { return (tree.label > 2) - (tree.label < 2); }

bool begins_with(const SentimentTree& tree, std::string_view word) {
  return tree.children.empty() ? tree.word == word : begins_with(tree.children[0], word);
}

/// Checks the rules of negation and contrast at every node; counts those that it met.
void check_rules(const SentimentTree& tree, std::map<std::string, int>& met) {
  const auto& children = tree.children;
  if (children.size() == 2 && children[0].children.empty() &&
      std::set<std::string>{"not", "never", "hardly", "isn't", "wasn't", "no", "little"}.contains(
          children[0].word)) {
    EXPECT_EQ(sign_of(tree), -sign_of(children[1])) << tree.brackets();
    ++met[children[0].word];
  }
  for (const SentimentTree& child : children) {
    if ((child.word == "but" && &child != &children[1]) || child.word == "yet") {
      EXPECT_EQ(sign_of(tree), sign_of(children.back())) << tree.brackets();
      EXPECT_EQ(sign_of(tree), -sign_of(children.front())) << tree.brackets();
      ++met[child.word];
    }
    check_rules(child, met);
  }
  if (children.size() == 3 && children[1].word == ",") {
    const bool first = begins_with(children[0], "although") || begins_with(children[0], "despite");
    const bool last = begins_with(children[2], "although") || begins_with(children[2], "even");
    if (first || last) {
      EXPECT_EQ(sign_of(tree), sign_of(children[first ? 2 : 0])) << tree.brackets();
      EXPECT_EQ(sign_of(tree), -sign_of(children[first ? 0 : 2])) << tree.brackets();
      ++met[first ? "although A, B" : "A, although B"];
    }
  }
}

TEST(Reviews, AreAPureFunctionOfSeedAndIndex) {
  // These words are the contract: models trained on them are compared between machines.
  EXPECT_EQ(make_review(1, 1).brackets(),
            "(4 (4 (2 (2 its) (2 script)) (4 (2 was) (4 excellent))) (2 !))");
  EXPECT_EQ(make_review(1, 1).text(), make_review(1, 1).text());
  EXPECT_NE(make_review(2, 1).text(), make_review(1, 1).text());
  ContentHash all;
  for (uint64_t i = 0; i < 1000; ++i) all.text(make_review(7, i).brackets());
  EXPECT_EQ(hex(all.value()), "ba615eec83527e2df54ac1b12a74e2ed");
}

TEST(Reviews, LabelsFollowTheGrammar) {
  std::map<std::string, int> met;
  int positive = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const SentimentTree tree = make_review(3, i);
    ASSERT_NE(tree.label, 2) << tree.brackets();
    positive += tree.label > 2;
    check_rules(tree, met);
  }
  EXPECT_NEAR(positive, 10000, 300);
  for (const char* rule : {"not", "never", "hardly", "isn't", "wasn't", "no", "little", "but",
                           "yet", "although A, B", "A, although B"}) {
    EXPECT_GT(met[rule], 100) << rule;
  }
}

TEST(Reviews, TreesReadAsTheTreebankDoes) {
  std::string file;
  for (uint64_t i = 0; i < 200; ++i) file += make_review(1, i).brackets() + "\n";
  TreeRecords trees(LineReader(bytes_of_memory(file), "trees"));
  const auto records = records_of(trees);
  ASSERT_EQ(records.size(), 200u);
  for (uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(records[i].text, make_review(1, i).text());
    EXPECT_EQ(records[i].label, std::to_string(make_review(1, i).label));
  }
}

TEST(Reviews, SplitsShareNoSentence) {
  const ReviewOptions options;
  std::set<std::string> seen;
  size_t records = 0;
  for (const auto& [split, size] : {std::pair<std::string, int64_t>{"train", options.train},
                                    {"validation", options.validation},
                                    {"test", options.test}}) {
    int64_t positive = 0, count = 0;
    for (const Record& record : split_of(options, split)) {
      EXPECT_EQ(review_split(record.text), split);
      positive += record.label == "positive";
      ++count;
      seen.insert(record.text);
    }
    EXPECT_EQ(count, size);
    EXPECT_NEAR(static_cast<double>(positive) / static_cast<double>(count), 0.5, 0.03) << split;
    records += static_cast<size_t>(count);
  }
  EXPECT_EQ(seen.size(), records) << "a sentence occurs twice";
  EXPECT_EQ(review_split("it was directed by Lili . i loved it ."),
            review_split("it was directed by Korwen . i loved it ."));
}

TEST(Reviews, NoiseFlipsTrainingLabelsOnly) {
  ReviewOptions noisy;
  noisy.label_noise = 0.2;
  const auto clean = split_of({}, "train"), flipped = split_of(noisy, "train");
  ASSERT_EQ(clean.size(), flipped.size());
  double differ = 0;
  for (size_t i = 0; i < clean.size(); ++i) {
    ASSERT_EQ(clean[i].text, flipped[i].text);
    differ += clean[i].label != flipped[i].label;
  }
  EXPECT_NEAR(differ / static_cast<double>(clean.size()), 0.2, 0.01);
  const auto truth = split_of({}, "validation"), kept = split_of(noisy, "validation");
  for (size_t i = 0; i < truth.size(); ++i) ASSERT_EQ(truth[i].label, kept[i].label);
}

TEST(Reviews, TheVocabularyIsExactlyWhatOccurs) {
  const auto tokenizer = text::Tokenizer::parse(reviews_tokenizer_json(), "reviews");
  const auto words = reviews_vocabulary();
  EXPECT_EQ(tokenizer.id_end(), static_cast<int32_t>(words.size()) + 5);
  std::set<std::string> unused(words.begin(), words.end());
  size_t unknown = 0, names = 0;
  for (uint64_t i = 0; i < 20000; ++i) {
    const std::string sentence = make_review(5, i).text();
    for (const char c : sentence) names += c >= 'A' && c <= 'Z';
    const auto encoding = tokenizer.encode({sentence, {}});
    EXPECT_EQ(encoding.ids.front(), 2);
    EXPECT_EQ(encoding.ids.back(), 3);
    for (const int32_t id : encoding.ids) {
      unknown += id == 1;
      unused.erase(std::string(tokenizer.token_of(id)));
    }
  }
  EXPECT_GT(names, 500u);
  EXPECT_EQ(unknown, names);
  EXPECT_TRUE(unused.empty()) << *unused.begin() << " never occurs";
}

/// Logistic regression on the words of a sentence, without their order.
TEST(Reviews, CountingWordsDoesNotSolveThem) {
  const auto tokenizer = text::Tokenizer::parse(reviews_tokenizer_json(), "reviews");
  std::vector<double> weights(static_cast<size_t>(tokenizer.id_end()));
  const auto score = [&](const std::vector<int32_t>& ids) {
    double sum = 0;
    for (const int32_t id : ids) sum += weights[static_cast<size_t>(id)];
    return sum;
  };
  const auto train = split_of({}, "train");
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (const Record& record : train) {
      const auto ids = tokenizer.encode({record.text, {}}).ids;
      const double wanted = record.label == "positive" ? 1 : 0;
      const double error = wanted - 1 / (1 + std::exp(-score(ids)));
      for (const int32_t id : ids) weights[static_cast<size_t>(id)] += 0.01 * error;
    }
  }
  double right = 0, samples = 0;
  for (const Record& record : split_of({}, "validation")) {
    right += (score(tokenizer.encode({record.text, {}}).ids) > 0) == (record.label == "positive");
    ++samples;
  }
  RecordProperty("accuracy", std::to_string(right / samples));
  EXPECT_LT(right / samples, 0.70);
  EXPECT_GT(right / samples, 0.55);  // words do say something
}

TEST(Reviews, AreATaskWithoutAFolder) {
  const Task& task = *find_task("reviews");
  EXPECT_EQ(task.labels, (std::vector<std::string>{"negative", "positive"}));
  EXPECT_TRUE(task_files(task, "", "train").empty());
  const auto stream = open_task(task, "", "validation");
  Record record;
  ASSERT_TRUE(stream->next(record));
  EXPECT_EQ(stream->where(record), "reviews: sentence " + std::to_string(record.row));
  EXPECT_EQ(record.text,
            make_review(ReviewOptions().seed, static_cast<uint64_t>(record.row) - 1).text());
  EXPECT_EQ(error_of([&] { open_task(task, "", "dev"); }),
            "reviews: split: expected one of train, validation, test, got 'dev'");
}

TEST(Reviews, HaveTheTreesOfTheirGrammar) {
  const std::shared_ptr<TreeBank> bank = review_trees("validation", 20);
  EXPECT_EQ(bank->index.size(), 20u);
  const auto stream = open_task(*find_task("reviews"), "", "validation");
  Record record;
  std::set<std::string> labels;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream->next(record));
    const auto tree = bank->index.find(record.text);
    ASSERT_TRUE(tree.has_value()) << record.text;
    EXPECT_TRUE(trees::locate_words(*tree, record.text).has_value());
    ASSERT_FALSE(tree->constituents.empty());
    EXPECT_EQ(tree->constituents.front().label > "2", record.label == "positive");
    for (const trees::Constituent& each : tree->constituents) labels.insert(each.label);
  }
  EXPECT_GE(labels.size(), 4u);
  EXPECT_NE(bank->hash, review_trees("validation", 19)->hash);
  EXPECT_EQ(review_trees("test", -1)->index.size(), 2000u);
}

}  // namespace
}  // namespace hone::data
