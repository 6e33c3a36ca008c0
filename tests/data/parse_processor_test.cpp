#include "data/parse_processor.h"

#include "base/thread_pool.h"
#include "data/reading.h"
#include "nn/packing.h"

namespace hone::data {
namespace {

/// A parser's processor over the words of a small vocabulary.
class Parsing : public testing::Test {
 protected:
  static constexpr const char* kFolder = HONE_TEST_DIR "/../models/goldens/bert-words";

  static ParseProcessor processor_of(int64_t max_length) {
    text::Tokenizer tokenizer = text::Tokenizer::load(kFolder);
    const TextLimits limits{max_length, tokenizer.id_end(), 2};
    return {std::move(tokenizer), {kFolder}, limits, max_length, "model"};
  }

  EncodedSample encode(std::string_view text, std::optional<std::string_view> tree = {},
                       int64_t max_length = 64) {
    std::vector<EncodedSample> out;
    processor_of(max_length).encode(std::vector<RawSample>{{text, tree}}, pool_, out);
    return out.at(0);
  }

  using Spans = std::vector<std::pair<int32_t, int32_t>>;
  static Spans sorted(Spans spans) {
    std::sort(spans.begin(), spans.end());
    return spans;
  }

  ThreadPool pool_{2};
};

TEST_F(Parsing, SamplesHaveTheirTreeOverTheirWords) {
  const EncodedSample sample =
      encode("The film wasn't unlikely good .",
             "(S (NP The film) (VP was n't (AP (A unlikely) (A good))) .)");
  EXPECT_EQ(ParseProcessor::leaves(sample.bytes), 7);
  EXPECT_EQ(sorted(ParseProcessor::constituents(sample.bytes)), (Spans{{0, 2}, {2, 6}, {4, 6}}));
  const ParseProcessor processor = processor_of(64);
  Batch batch(processor.layout());
  processor.append(encode("a").bytes, 0, batch);
  processor.append(sample.bytes, 1, batch);
  EXPECT_EQ(batch.rows(kBounds, 1), 8);
  EXPECT_EQ(batch.rows(kCells, 1), 21);
  const auto first = static_cast<int32_t>(batch.first(nn::kTokens, 1));
  const auto last = static_cast<int32_t>(batch.rows(nn::kTokens)) - 1;
  const auto before = batch.array<int32_t>(kBefore).subspan(2);
  const auto behind = batch.array<int32_t>(kBehind).subspan(2);
  EXPECT_EQ(before.front(), first);
  EXPECT_EQ(behind.front(), first + 1);
  EXPECT_EQ(behind.back(), last);
  EXPECT_EQ(before.back(), last - 1);
  for (size_t bound = 1; bound + 1 < before.size(); ++bound) {
    EXPECT_EQ(before[bound] + 1, behind[bound]) << "words lie one behind the other";
    EXPECT_GT(behind[bound], behind[bound - 1]);
  }
  const auto gold = batch.array<int32_t>(kGold);
  EXPECT_EQ(std::count(gold.begin(), gold.end(), 1), 3);
  // Cells of seven words: those from word 0 come first, six in all.
  EXPECT_EQ(gold[0], 1);
  EXPECT_EQ(gold[6 + 5 + 2], 1);
  // What is left of it in a batch of its own is the same.
  Batch alone(processor.layout());
  processor.append(sample.bytes, 1, alone);
  const Batch subset = batch.subset(std::vector<int64_t>{1});
  for (const size_t input : {size_t{kBefore}, size_t{kBehind}, size_t{kGold}}) {
    const auto a = alone.array<int32_t>(input), b = subset.array<int32_t>(input);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << input;
  }
}

TEST_F(Parsing, TextsWithoutTreesAreSplitIntoWords) {
  const EncodedSample sample = encode("The film wasn't good.");
  EXPECT_EQ(ParseProcessor::leaves(sample.bytes), 6);
  EXPECT_TRUE(ParseProcessor::constituents(sample.bytes).empty());
  EXPECT_EQ(ParseProcessor::leaves(encode("").bytes), 0);
  EXPECT_EQ(ParseProcessor::leaves(encode("film").bytes), 1);
}

TEST_F(Parsing, WordsThatAreCutLoseTheirConstituents) {
  // Two special tokens and three words.
  const EncodedSample sample = encode("the film was good", "(S (A (B the film) was) good)", 5);
  EXPECT_TRUE(sample.truncated());
  EXPECT_EQ(ParseProcessor::leaves(sample.bytes), 3);
  EXPECT_EQ(ParseProcessor::constituents(sample.bytes), (Spans{{0, 2}}))
      << "what is left of the whole is the whole";
}

TEST_F(Parsing, WordsBehindTheChartAreCut) {
  std::string text;
  for (int i = 0; i < 140; ++i) text += "a ";
  const EncodedSample sample = encode(text, {}, 512);
  EXPECT_EQ(ParseProcessor::leaves(sample.bytes), 128);
}

TEST_F(Parsing, WordsWithoutTokensBelongToTheOneBefore) {
  const ParseProcessor processor = processor_of(64);
  // A control character gives no token.
  const std::string text = "the \x01 film \x01";
  const auto words = trees::split_words(text);
  ASSERT_EQ(words.size(), 4u);
  const Leaves leaves = processor.leaves_of(text, words);
  ASSERT_EQ(leaves.list.size(), 2u);
  EXPECT_EQ(leaves.list[0].first, 0u);
  EXPECT_EQ(leaves.list[1].first, 2u);
  EXPECT_EQ(leaves.words, 4u);
}

TEST_F(Parsing, TreesOfOtherTextsAreRefused) {
  EXPECT_EQ(error_of([&] { encode("the film", "(S the plot)"); }),
            "tree: its words are not those of the text 'the film'");
  EXPECT_EQ(error_of([&] { encode("the film", "(S the film"); }),
            "tree: expected one tree in brackets, got '(S the film'");
}

TEST_F(Parsing, DamagedSamplesStaySpans) {
  EncodedSample sample = encode("the film was good");
  for (size_t i = 5 * static_cast<size_t>(sample.units); i < sample.bytes.size(); ++i) {
    sample.bytes[i] = std::byte{0xff};
  }
  const int64_t leaves = ParseProcessor::leaves(sample.bytes);
  for (const auto& [begin, end] : ParseProcessor::constituents(sample.bytes)) {
    EXPECT_TRUE(begin >= 0 && end - begin >= 2 && end <= leaves);
  }
  const ParseProcessor processor = processor_of(64);
  Batch batch(processor.layout());
  processor.append(sample.bytes, 0, batch);
}

}  // namespace
}  // namespace hone::data
