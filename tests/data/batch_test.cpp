// What batches hold, and that some of their samples make the batch that these alone would.
#include "data/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/text_batch.h"
#include "nn/packing.h"

namespace hone::data {
namespace {

/// Words and letters: two axes that samples have any number of rows of, and one of samples.
constexpr Axis kWords{1};
constexpr Axis kLetters{2};
constexpr Axis kTexts{3};
constexpr Axis kLongestWord{5};
enum WordInputs : size_t { kSizes, kHeads, kWordOffsets, kBits, kLetterOffsets };

std::shared_ptr<const BatchLayout> word_layout() {
  using Role = InputSpec::Role;
  auto layout = std::make_shared<BatchLayout>();
  layout->inputs = {
      {"sizes", DType::f64, kWords, 3},
      {"heads", DType::i32, kWords, 2, Filler::minus_one, Role::indices, kLetters},
      {"word_offsets", DType::i32, kTexts, 1, Filler::last, Role::offsets, kWords},
      {"bits", DType::u8, kLetters},
      {"letter_offsets", DType::i32, kTexts, 1, Filler::last, Role::offsets, kLetters}};
  layout->axes = {kTexts, kWords, kLetters};
  layout->longest = kLongestWord;
  layout->longest_of = kLetters;
  return layout;
}

struct Words {
  int64_t words;
  int64_t letters;
};
const std::vector<Words> kWordSamples = {{2, 5}, {0, 3}, {1, 1}, {4, 9}, {3, 2}};

void add_words(const Words& sample, Batch& batch) {
  const auto first = static_cast<int32_t>(batch.rows(kLetters));
  batch.add(std::vector<int64_t>{1, sample.words, sample.letters});
  const auto seed = static_cast<double>(10 * sample.words + sample.letters);
  std::iota(batch.last<double>(kSizes).begin(), batch.last<double>(kSizes).end(), seed);
  for (int32_t& head : batch.last<int32_t>(kHeads)) {
    head = first + static_cast<int32_t>((&head - batch.last<int32_t>(kHeads).data()) %
                                        std::max<int64_t>(1, sample.letters));
  }
  std::iota(batch.last<uint8_t>(kBits).begin(), batch.last<uint8_t>(kBits).end(),
            static_cast<uint8_t>(seed));
}

Batch word_batch(const std::vector<int64_t>& numbers) {
  Batch batch(word_layout());
  for (const int64_t number : numbers) {
    add_words(kWordSamples[static_cast<size_t>(number)], batch);
  }
  return batch;
}

const TextLimits kTextLimits{16, 100, 2, 1, true};

Batch text_batch(const std::vector<int64_t>& numbers) {
  Batch batch(text_layout());
  for (const int64_t number : numbers) {
    std::vector<int32_t> ids(static_cast<size_t>(3 + 4 * number % 7));
    std::vector<int32_t> types(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int32_t>((static_cast<size_t>(number) * 17 + i) % 100);
      types[i] = i > 2 ? 1 : 0;
    }
    ids[1] = 1;  // a pad has no position of its own
    append_tokens(kTextLimits, ids, types, 1000 + number, batch);
  }
  return batch;
}

/// All that a plan reads of an input.
std::vector<std::byte> bytes_of(const Batch& batch, size_t input) {
  const InputSpec& spec = batch.layout().inputs[input];
  const bool offsets = spec.role == InputSpec::Role::offsets;
  const int64_t rows = offsets ? batch.size() + 1 : batch.rows(spec.axis);
  const size_t bytes = static_cast<size_t>(rows * spec.width) * dtype_size(spec.dtype);
  if (!offsets) {
    EXPECT_EQ(batch.array<std::byte>(input).size(), bytes) << spec.name;
  }
  const auto* data = static_cast<const std::byte*>(batch.data(input));
  return {data, data + bytes};
}

void expect_equal(const Batch& got, const Batch& wanted) {
  EXPECT_EQ(got.size(), wanted.size());
  EXPECT_EQ(got.extents(), wanted.extents());
  for (size_t i = 0; i < wanted.layout().inputs.size(); ++i) {
    EXPECT_EQ(bytes_of(got, i), bytes_of(wanted, i)) << wanted.layout().inputs[i].name;
  }
  for (const Axis axis : wanted.layout().axes) {
    for (int64_t sample = 0; sample <= wanted.size(); ++sample) {
      EXPECT_EQ(got.first(axis, sample), wanted.first(axis, sample));
    }
  }
}

TEST(Batch, SomeOfItsSamplesAreTheBatchOfTheseAlone) {
  const std::vector<int64_t> all = {0, 1, 2, 3, 4};
  for (const std::vector<int64_t>& kept : std::vector<std::vector<int64_t>>{
           all, {}, {0}, {4}, {1}, {1, 3}, {3, 1}, {4, 2, 0}, {2, 2, 1, 2}}) {
    expect_equal(word_batch(all).subset(kept), word_batch(kept));
    expect_equal(text_batch(all).subset(kept), text_batch(kept));
  }
  // Some of some.
  expect_equal(
      word_batch(all).subset(std::vector<int64_t>{4, 1, 3}).subset(std::vector<int64_t>{2, 0}),
      word_batch({3, 4}));
}

TEST(Batch, HoldsAsManyRowsAsItsSamplesHave) {
  Batch batch = word_batch({0, 1, 3});
  EXPECT_EQ(batch.size(), 3);
  EXPECT_EQ(batch.rows(kWords), 6);
  EXPECT_EQ(batch.rows(kLetters), 17);
  EXPECT_EQ(batch.rows(kWords, 1), 0);
  EXPECT_EQ(batch.rows(kLetters, 2), 9);
  EXPECT_EQ(batch.first(kLetters, 2), 8);
  EXPECT_EQ(batch.array<double>(kSizes).size(), 18u);
  EXPECT_EQ(batch.array<int32_t>(kHeads).size(), 12u);
  EXPECT_EQ(batch.array<uint8_t>(kBits).size(), 17u);
  const auto* offsets = static_cast<const int32_t*>(batch.data(kLetterOffsets));
  EXPECT_EQ(std::vector<int32_t>(offsets, offsets + 4), (std::vector<int32_t>{0, 5, 8, 17}));
  const Extents extents = batch.extents();
  EXPECT_EQ(extents[kTexts], 3);
  EXPECT_EQ(extents[kWords], 6);
  EXPECT_EQ(extents[kLetters], 17);
  EXPECT_EQ(extents[kLongestWord], 9);
  batch.clear();
  expect_equal(batch, word_batch({}));
  add_words(kWordSamples[2], batch);
  expect_equal(batch, word_batch({2}));
}

TEST(Batch, OfTextsHasTheSizesThatItsLayoutForetells) {
  const Batch batch = text_batch({0, 1, 2, 3, 4});
  EXPECT_EQ(batch.units, batch.rows(nn::kTokens));
  EXPECT_EQ(batch.extents(), text_layout()->extents(5, batch.units, 8));
  EXPECT_EQ(text_layout()->inputs.size(), size_t{kReadSamples} + 1);
  EXPECT_EQ(batch.array<int64_t>(kSamples).size(), static_cast<size_t>(batch.units));
  EXPECT_EQ(batch.array<int64_t>(kReadSamples)[3], 1003);
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(batch.array<int32_t>(hone::data::kReads)[static_cast<size_t>(i)],
              batch.first(nn::kTokens, i));
  }
  const auto positions = batch.array<int32_t>(kPositions).first(3);
  EXPECT_EQ(std::vector<int32_t>(positions.begin(), positions.end()),
            (std::vector<int32_t>{2, 1, 3}));
}

TEST(Batch, ThatIsTooLargeIsAnError) {
  Batch batch(word_layout());
  batch.add(std::vector<int64_t>{1, 0, 1});
  EXPECT_THROW(batch.add(std::vector<int64_t>{1, 0, INT32_MAX}), Error);
}

}  // namespace
}  // namespace hone::data
