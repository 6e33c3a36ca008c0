#include "data/explain_processor.h"

#include <set>

#include "base/error.h"
#include "base/thread_pool.h"
#include "data/reading.h"
#include "nn/packing.h"

namespace hone::data {
namespace {

class Explaining : public testing::Test {
 protected:
  static ExplainProcessor processor_of(int64_t max_length) {
    const std::string folder = HONE_TEST_DIR "/../models/goldens/bert-words";
    text::Tokenizer tokenizer = text::Tokenizer::load(folder);
    const TextLimits limits{max_length, tokenizer.id_end(), 2};
    return {std::move(tokenizer), {folder}, limits, max_length, "model"};
  }

  static std::shared_ptr<const TreeBank> bank() {
    auto made = std::make_shared<TreeBank>();
    trees::BracketReader reader;
    std::vector<trees::Tree> trees;
    EXPECT_EQ(reader.take("(S (NP The film) (VP was n't (AP (A unlikely) (A good))) .)", trees),
              "");
    made->index.add(std::move(trees.front()));
    return made;
  }

  EncodedSample encode(const ExplainProcessor& processor, std::string_view text) {
    std::vector<EncodedSample> out;
    processor.encode(std::vector<RawSample>{{text, {}}}, pool_, out);
    return out.at(0);
  }

  ThreadPool pool_{2};
};

constexpr const char* kText = "The film wasn't unlikely good .";

TEST_F(Explaining, PhrasesAreTheTokensOfATreesConstituents) {
  ExplainProcessor processor = processor_of(64);
  EXPECT_FALSE(has_given_tree(encode(processor, kText).bytes));
  processor.set_trees(bank());
  const EncodedSample sample = encode(processor, kText);
  EXPECT_TRUE(has_given_tree(sample.bytes));
  EXPECT_EQ(ExplainProcessor::cut_phrases(sample.bytes), 0);
  Batch batch(processor.layout());
  processor.append(encode(processor, "a film").bytes, 0, batch);
  processor.append(sample.bytes, 1, batch);
  EXPECT_EQ(batch.rows(kPhrases, 0), 0) << "the whole is no phrase";
  EXPECT_EQ(batch.rows(kPhrases, 1), 5) << "places of seven words";
  EXPECT_EQ(batch.array<int32_t>(kGiven)[1], 1);
  const auto first = static_cast<int32_t>(batch.first(nn::kTokens, 1));
  const auto spans = batch.array<int32_t>(kPhraseSpans);
  EXPECT_EQ(spans[0], first + 1);
  EXPECT_EQ(spans[1], first + 3);
  for (size_t place = 3; place < 5; ++place) EXPECT_EQ(spans[2 * place], spans[2 * place + 1]);
  // What is left of it in a batch of its own is the same.
  Batch alone(processor.layout());
  processor.append(sample.bytes, 1, alone);
  const Batch subset = batch.subset(std::vector<int64_t>{1});
  for (int64_t place = 0; place < 3; ++place) {
    const auto at = static_cast<size_t>(2 * place);
    EXPECT_EQ(alone.array<int32_t>(kPhraseSpans)[at], subset.array<int32_t>(kPhraseSpans)[at]);
  }
}

TEST_F(Explaining, CutPhrasesAreLeftOutAndCounted) {
  ExplainProcessor processor = processor_of(5);
  processor.set_trees(bank());
  const EncodedSample sample = encode(processor, kText);
  EXPECT_TRUE(sample.truncated());
  EXPECT_EQ(ExplainProcessor::cut_phrases(sample.bytes), 2);
  EXPECT_EQ(marked_constituents(sample.bytes).size(), 1u);
}

TEST_F(Explaining, ASampleWithoutAPhraseIsTheTextWithoutIt) {
  ExplainProcessor processor = processor_of(64);
  processor.set_trees(bank());
  const EncodedSample sample = encode(processor, kText);
  // Without "The film": the phrases that are left are three words earlier at most.
  const std::vector<std::byte> without = without_leaves(sample.bytes, 0, 2);
  const EncodedSample wanted = encode(processor_of(64), "wasn't unlikely good .");
  ASSERT_EQ(without.size(), wanted.bytes.size());
  const auto tokens = static_cast<size_t>(wanted.units) * 5;  // ids and types
  EXPECT_TRUE(std::equal(without.begin(), without.begin() + static_cast<ptrdiff_t>(tokens),
                         wanted.bytes.begin()));
  EXPECT_EQ(leaf_tokens(without), leaf_tokens(wanted.bytes));
  using Spans = std::vector<std::pair<int32_t, int32_t>>;
  Spans left = marked_constituents(without);
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (Spans{{0, 4}, {2, 4}}));
  EXPECT_TRUE(has_given_tree(without));
  // What was a phrase of two with one word taken is none.
  EXPECT_EQ(marked_constituents(without_leaves(sample.bytes, 5, 6)).size(), 2u);
}

TEST_F(Explaining, MaskingDependsOnSeedEpochAndRowAlone) {
  ExplainProcessor processor = processor_of(64);
  processor.set_trees(bank());
  const EncodedSample sample = encode(processor, kText);
  const auto tokens = [&](int64_t epoch, int64_t row) {
    Batch batch(processor.layout());
    batch.begin.epoch = epoch;
    processor.append_for_training(sample.bytes, row, {}, batch);
    return batch.rows(nn::kTokens);
  };
  EXPECT_EQ(tokens(0, 0), sample.units);
  processor.set_masking(1, 42);
  std::set<int64_t> seen;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    EXPECT_LT(tokens(epoch, 3), sample.units);
    EXPECT_EQ(tokens(epoch, 3), tokens(epoch, 3));
    seen.insert(tokens(epoch, 3));
  }
  EXPECT_GT(seen.size(), 1u);
}

TEST_F(Explaining, PairsAreRefused) {
  const ExplainProcessor processor = processor_of(64);
  std::vector<EncodedSample> out;
  EXPECT_THROW(processor.encode(std::vector<RawSample>{{"a", "b"}}, pool_, out), Error);
}

}  // namespace
}  // namespace hone::data
